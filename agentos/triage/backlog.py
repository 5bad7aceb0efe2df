"""Judge the items of a backlog, each by itself and against the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentos.documents.dependencies import Dependency, read_dependencies
from agentos.inbox import Reject, Source, Whereabouts
from agentos.plan.dependence import UNASKED, Names, describe_cycles, refer
from agentos.task import Task
from agentos.triage import Class, Complaint
from agentos.triage.duplicates import Doubles, profile_of
from agentos.triage.weaknesses import judge


@dataclass(frozen=True, slots=True)
class Judgement:
    """An item with what is wrong with it."""

    task: Task
    complaints: tuple[Complaint, ...]

    @property
    def is_serious(self) -> bool:
        """Whether work on the item would be wasted."""
        return any(complaint.is_serious for complaint in self.complaints)

    def lines(self) -> Iterator[str]:
        """Say each complaint in a line."""
        for complaint in self.complaints:
            kind = complaint.kind if complaint.is_serious else f"{complaint.kind} (note)"
            yield f"{self.task.label}  {kind}: {complaint.what}. Now: {complaint.advice}"

    def to_json(self) -> dict[str, Any]:
        """Return the judgement as JSON data."""
        return {
            "id": self.task.item,
            "label": self.task.label,
            "source": self.task.source,
            "complaints": [complaint.to_json() for complaint in self.complaints],
        }


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is to be judged and what it is compared with."""

    tasks: Sequence[Task]
    """Those to be judged."""
    known: Sequence[Task]
    """What they are compared with, these included; of two that say the same the first is the original."""
    names: Sequence[Task]
    """All that a dependency may mean."""
    rejects: Sequence[Reject]
    load: Callable[[Task], Source]
    ours: str
    """The `owner/name` by which texts may call their own repository."""
    is_elsewhere: Callable[[str], bool]
    """Tells whether an id that is not among the known is known otherwise, such as by its finished document."""
    whereabouts: Mapping[str, Whereabouts] = field(default_factory=dict)
    """What the source said about dependencies that are not among the names."""


@dataclass(slots=True)
class _Findings:
    complaints: dict[Task, list[Complaint]] = field(default_factory=dict)

    def add(self, task: Task, complaint: Complaint) -> None:
        self.complaints.setdefault(task, []).append(complaint)


def examine(backlog: Backlog) -> list[Judgement]:
    """Return the items with complaints, in their order; the cost grows with the text of the known items."""
    wanted = set(backlog.tasks)
    findings = _Findings()
    stated: dict[int, Sequence[Dependency]] = {}
    doubles = Doubles()
    for position, task in enumerate(backlog.known):
        source = backlog.load(task)
        if source.problem:
            if task in wanted:
                findings.add(task, Complaint(Class.UNUSABLE, source.problem, "mend the file"))
            continue
        demands, complaints = judge(source.text, task.workflow)
        double = doubles.add(profile_of(task.label, demands))
        if task not in wanted:
            continue
        for complaint in complaints:
            findings.add(task, complaint)
        if double is not None:
            advice = f"close one of the two, or say here how it differs from {double.other.name}"
            findings.add(task, Complaint(Class.DUPLICATE, double.what, advice, is_serious=double.is_serious))
        if found := read_dependencies(source.text, backlog.ours):
            stated[position] = found
    _check_dependencies(backlog, stated, findings)
    refused = [
        Judgement(reject.task, (Complaint(Class.UNUSABLE, reject.reason, "rename or mend the file"),))
        for reject in backlog.rejects
    ]
    judged = [
        Judgement(task, tuple(findings.complaints[task])) for task in backlog.tasks if task in findings.complaints
    ]
    return judged + refused


def _check_dependencies(backlog: Backlog, stated: dict[int, Sequence[Dependency]], findings: _Findings) -> None:
    names = Names(backlog.names)
    for position, found in stated.items():
        for dependency in found:
            if names.find(dependency.item) is not None or backlog.is_elsewhere(dependency.item):
                continue
            match backlog.whereabouts.get(dependency.item, Whereabouts.MISSING):
                case Whereabouts.MISSING:
                    trouble, advice = "is not known here", "check the number; as it is, it holds nothing up"
                case Whereabouts.UNASKED:
                    trouble, advice = UNASKED, "look whether it is; as it is, it holds nothing up"
                case _:
                    continue
            what = f'line {dependency.line} "{dependency.said}": {refer(dependency.item)} {trouble}'
            complaint = Complaint(Class.UNKNOWN_DEPENDENCY, what, advice, (dependency.line,), is_serious=False)
            findings.add(backlog.known[position], complaint)
    for position, way in describe_cycles(backlog.known, stated, names):
        lines = tuple(dependency.line for dependency in stated[position])
        findings.add(backlog.known[position], Complaint(Class.CYCLE, way, "let one of them come first", lines))
