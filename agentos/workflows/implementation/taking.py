"""Take from an answer what may be written; everything else is a line that the next attempt is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agentos.documents.changes import (
    Change,
    Deletion,
    EditedFile,
    EditRefused,
    WholeFile,
    apply_edits,
    judge,
    parse_changes,
)
from agentos.inspection import inspect_source, inspect_tests, missing_scenarios, skeletons
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.showing import Reader

NOTHING = "the answer names no file; begin each block with a line `# File: path`"


@dataclass(slots=True)
class Taken:
    """What an answer gives, and what is wrong with it."""

    files: dict[str, str] = field(default_factory=dict)
    """The new texts by path."""
    deleted: list[str] = field(default_factory=list)
    extras: dict[str, str] = field(default_factory=dict)
    """Files that the design does not declare, with the reasons given."""
    names: list[str] = field(default_factory=list)
    """Of tests, the ids that the runner will give them."""
    problems: list[str] = field(default_factory=list)


def take_tests(answer: str, blueprint: Blueprint, reader: Reader) -> Taken:
    """Take the declared test files, and refuse tests that prove nothing."""
    declared = {path: str(kind) for path, kind in blueprint.declared.items() if path in blueprint.tests}
    taken = _take(answer, declared, (), reader)
    if taken.problems:
        return taken
    found = []
    for path, text in taken.files.items():
        if path.endswith(".py"):
            inventory = inspect_tests(text, path, packages=_packages(blueprint))
            found.append(inventory)
            taken.names += [f"{path}::{test.name}" for test in inventory.names]
            taken.problems += [f"{path}, line {problem.line}: {problem.text}" for problem in inventory.problems]
    if missing := missing_scenarios(found, blueprint.scenarios):
        taken.problems.append(f"no test for the scenarios {', '.join(missing)}; name one test_{missing[0]}_...")
    return taken


def take_code(answer: str, blueprint: Blueprint, reader: Reader, *, protected: Collection[str]) -> Taken:
    """Take the code; its tests are protected, and what is left of it must be finished work."""
    declared = {path: str(kind) for path, kind in blueprint.declared.items() if path in blueprint.sources}
    taken = _take(answer, declared, (*protected, *blueprint.tests), reader)
    for path, text in taken.files.items():
        if path.endswith(".py"):
            report = inspect_source(text, path, reader.read_base(path))
            taken.problems += [f"{path}, line {problem.line}: {problem.text}" for problem in report.problems]
    return taken


def skeletons_for(blueprint: Blueprint, reader: Reader) -> Mapping[str, str]:
    """Return modules that can be imported and do nothing, in the place of the code that is not there yet."""
    declared = {path: str(blueprint.declared[path]) for path in blueprint.python_sources}
    return skeletons(declared, reader.read)


def _packages(blueprint: Blueprint) -> tuple[str, ...]:
    """Return the top-level names that the code under design is imported by."""
    names = []
    for path in blueprint.python_sources:
        parts = path.removeprefix("src/").removesuffix(".py").split("/")
        names.append(parts[0])
    return tuple(dict.fromkeys(names))


def _take(answer: str, declared: Mapping[str, str], protected: Sequence[str], reader: Reader) -> Taken:
    parsed = parse_changes(answer)
    taken = Taken(problems=[problem.text for problem in parsed.problems])
    if not parsed.changes and not taken.problems:
        taken.problems.append(NOTHING)
    judgement = judge(parsed.changes, declared=declared, protected=protected)
    taken.problems += [refusal.text for refusal in judgement.refusals]
    taken.extras = {change.path: change.reason for change in judgement.extras}
    for change in judgement.allowed:
        _add(taken, change, reader)
    return taken


def _add(taken: Taken, change: Change, reader: Reader) -> None:
    match change:
        case Deletion():
            taken.deleted.append(change.path)
        case WholeFile() if change.is_cut:
            taken.problems.append(f"Line {change.line}: the block of `{change.path}` is not closed; give it whole")
        case WholeFile():
            taken.files[change.path] = change.text
        case EditedFile() if change.is_cut:
            taken.problems.append(f"Line {change.line}: the edit of `{change.path}` is not closed; give it whole")
        case EditedFile():
            present = taken.files.get(change.path)
            try:
                taken.files[change.path] = apply_edits(
                    present if present is not None else reader.read(change.path) or "", change.edits
                )
            except EditRefused as error:
                taken.problems.append(f"`{change.path}`: {error}")
