"""Judge the items of a backlog, each on its own and against the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentos.backlog.dependencies import UNASKED, Names, describe_cycles, refer
from agentos.backlog.inbox import Reject, Source, SourceState
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.backlog.preview import Preview, RunOptions
from agentos.backlog.selection import ItemIndex
from agentos.backlog.triage import Class, Complaint
from agentos.backlog.triage.demands import Demands
from agentos.backlog.triage.duplicates import DuplicateIndex, profile_of
from agentos.backlog.triage.figures import Measures
from agentos.backlog.triage.weaknesses import judge
from agentos.documents.dependencies import Dependency, read_dependencies
from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import Kind


@dataclass(frozen=True, slots=True)
class Judgment:
    """An item with what is wrong with it."""

    item: Item
    complaints: tuple[Complaint, ...]

    @property
    def is_serious(self) -> bool:
        """Whether work on the item would be wasted."""
        return any(complaint.is_serious for complaint in self.complaints)

    def lines(self) -> Iterator[str]:
        """Yield a line for each complaint."""
        for complaint in self.complaints:
            note = "" if complaint.is_serious else " (note)"
            problem = f"{complaint.kind}{note}: {complaint.what}"
            yield f"{self.item.label}  {problem}. Now: {complaint.advice}"

    def to_json(self) -> dict[str, Any]:
        """Return the judgment as JSON data."""
        return {
            "id": self.item.id,
            "label": self.item.label,
            "source": self.item.source,
            "complaints": [complaint.to_json() for complaint in self.complaints],
        }


@dataclass(frozen=True, slots=True)
class Backlog:
    """The items to judge, and those to compare them with."""

    items: Sequence[Item]
    """The items to judge."""
    known: Sequence[Item]
    """All items to compare with, including those to judge; of two duplicates the first
    is the original.
    """
    names: Sequence[Item]
    """All items that a dependency can refer to."""
    rejects: Sequence[Reject]
    load: Callable[[Item], Source]
    ours: str
    """The `owner/name` by which texts may refer to their own repository."""
    is_elsewhere: Callable[[str], bool]
    """Returns whether an id that is not among `known` exists elsewhere, for example as
    a finished document.
    """
    whereabouts: Mapping[str, SourceState] = field(default_factory=dict)
    """What the source knows about dependencies that are not among `names`."""


def read_backlog(
    options: RunOptions, preview: Preview, *, most: int | None = None
) -> Backlog:
    """Return the selected items and those to compare them with, at most `most` in
    all.
    """
    collected = preview.collected
    selection = preview.selection
    unreadable = [reject.item for reject in collected.rejects]
    wanted = {*selection.items}
    wanted.update(reject.item for reject in selection.rejects)
    wanted.difference_update(unreadable)
    items = []
    others = []
    for item in collected.items:
        if item in wanted:
            items.append(item)
        else:
            others.append(item)
    items = items[:most]
    if most is not None:
        others = others[: most - len(items)]
    rejects = [each for each in selection.rejects if each.item in unreadable]
    is_elsewhere = _elsewhere(options.workflow, preview.index, options.repository)
    _, _, own_repository = options.source.partition(":")
    return Backlog(
        items=items,
        known=others + items,
        names=[*collected.items, *unreadable],
        rejects=rejects,
        load=preview.inbox.load,
        ours=own_repository,
        is_elsewhere=is_elsewhere,
        whereabouts=preview.order.whereabouts,
    )


def _elsewhere(
    workflow: Kind, index: ItemIndex, repository: Path
) -> Callable[[str], bool]:
    """Return a function that checks whether an id has a document or, for a brief, is an
    issue.
    """
    issues: set[str] | None = None

    def is_known(item: str) -> bool:
        nonlocal issues
        if index.has_document(Item(workflow, item, "")):
            return True
        if not workflow.record.writes_issues:
            return False
        if issues is None:
            issues = _issue_ids(repository)
        return item.casefold() in issues

    return is_known


def _issue_ids(repository: Path) -> set[str]:
    try:
        collected = DirectoryInbox(repository, Kind.LLD).collect()
    except UsageError:
        return set()
    return {item.id.casefold() for item in collected.items}


def examine(backlog: Backlog) -> list[Judgment]:
    """Return the items with complaints, in order.

    The cost grows with the text of the known items, not with the number of pairs.
    """
    wanted = set(backlog.items)
    complaints: dict[Item, list[Complaint]] = {}
    for item in backlog.items:
        complaints[item] = []
    stated: dict[int, Sequence[Dependency]] = {}
    doubles = DuplicateIndex()
    measures = Measures()
    for position, item in enumerate(backlog.known):
        source = backlog.load(item)
        found: list[Complaint] = []
        if source.problem:
            complaint = Complaint(Class.UNUSABLE, source.problem, "fix the file")
            found.append(complaint)
        else:
            demands, own = judge(source.text, item.kind)
            found += own
            found += _compare_figures(item, demands, measures)
            found += _compare_texts(item, demands, doubles)
        if item not in wanted:
            continue
        complaints[item] += found
        if not source.problem:
            stated[position] = read_dependencies(source.text, backlog.ours)
    for position, complaint in _check_dependencies(backlog, stated):
        complaints[backlog.known[position]].append(complaint)
    judged = []
    for item in backlog.items:
        if complaints[item]:
            judgment = Judgment(item, tuple(complaints[item]))
            judged.append(judgment)
    for reject in backlog.rejects:
        complaint = Complaint(
            Class.UNUSABLE,
            reject.reason,
            "rename or fix the file",
        )
        judged.append(Judgment(reject.item, (complaint,)))
    return judged


def _compare_figures(
    item: Item, demands: Demands, known: Measures
) -> Iterator[Complaint]:
    """Yield figures that differ from those of earlier items, and remember new ones."""
    measures = demands.measures(item.label)
    own = [measure for measure in measures if measure.names_a_thing]
    for measure in own:
        other = known.find_conflict(measure)
        if other is None:
            continue
        quoted = demands.quote(measure.statement)
        lines = demands.lines_of(measure.statement)
        figure = measure.figure.text
        other_figure = other.figure.text
        what = f"{quoted}: {figure}, but {other_figure} in {other.owner}"
        advice = f"settle on one figure, or say here that it replaces {other.owner}'s"
        yield Complaint(
            Class.CONTRADICTORY,
            what,
            advice,
            lines,
            is_serious=False,
        )
    for measure in own:
        known.add(measure)


def _compare_texts(
    item: Item, demands: Demands, doubles: DuplicateIndex
) -> Iterator[Complaint]:
    double = doubles.add(profile_of(item.label, demands))
    if double is None:
        return
    advice = (
        f"close one of the two, or say here how it differs from {double.other.name}"
    )
    yield Complaint(Class.DUPLICATE, double.what, advice, is_serious=double.is_serious)


def _check_dependencies(
    backlog: Backlog, stated: Mapping[int, Sequence[Dependency]]
) -> Iterator[tuple[int, Complaint]]:
    names = Names(backlog.names)
    for position, found in stated.items():
        for complaint in _check_known(backlog, found, names):
            yield position, complaint
    for position, way in describe_cycles(backlog.known, stated, names):
        lines = tuple(dependency.line for dependency in stated[position])
        advice = "let one of them come first"
        yield position, Complaint(Class.CYCLE, way, advice, lines)


def _check_known(
    backlog: Backlog, stated: Iterable[Dependency], names: Names
) -> Iterator[Complaint]:
    """Yield dependencies on unknown items."""
    for dependency in stated:
        item = dependency.item
        line = dependency.line
        if names.find(item) is not None:
            continue
        if backlog.is_elsewhere(item):
            continue
        match backlog.whereabouts.get(item, SourceState.MISSING):
            case SourceState.MISSING:
                trouble = "is not known here"
                advice = "check the number; until then it is ignored"
            case SourceState.UNASKED:
                trouble = UNASKED
                advice = "check whether it is done; until then it is ignored"
            case _:
                continue
        name = refer(item)
        what = f'line {line} "{dependency.said}": {name} {trouble}'
        yield Complaint(
            Class.UNKNOWN_DEPENDENCY,
            what,
            advice,
            (line,),
            is_serious=False,
        )
