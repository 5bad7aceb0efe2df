"""Take from an answer what may be written; everything else is a line that the next attempt is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

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
from agentos.inspection import (
    extends_pytest,
    inspect_source,
    inspect_support,
    inspect_tests,
    missing_scenarios,
    plain_id,
    scenario_of,
    skeletons,
    weakened,
)
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.earlier import compare
from agentos.workflows.implementation.importing import top_level_names
from agentos.workflows.implementation.showing import Reader
from agentos.workflows.implementation.state import Scaffold

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
    """Of tests, the ids that the runner will give to those that are new or changed."""
    earlier: list[str] = field(default_factory=list)
    """The ids of the tests that the files held before."""
    problems: list[str] = field(default_factory=list)


def take_tests(answer: str, blueprint: Blueprint, reader: Reader) -> Taken:
    """Take the declared test files, and refuse tests that prove nothing."""
    declared = {path: str(kind) for path, kind in blueprint.declared.items() if path in blueprint.tests}
    taken = _take(answer, declared, (), reader)
    if taken.problems:
        return taken
    found = []
    packages = top_level_names(blueprint, reader)
    for path, text in taken.files.items():
        if is_test_module(path):
            base = reader.read_base(path)
            inventory = inspect_tests(text, path, packages=packages, base_text=base)
            comparison = compare(text, base)
            brought = tuple(test for test in inventory.names if test.name in comparison.brought)
            found.append(replace(inventory, names=brought))
            taken.names += [f"{path}::{test.name}" for test in brought]
            taken.earlier += [f"{path}::{name}" for name in comparison.earlier]
            taken.problems += [f"{path}, line {problem.line}: {problem.text}" for problem in inventory.problems]
            taken.problems += [f"{path}: {name} was there and is gone; leave it in" for name in comparison.lost]
        elif path.endswith(".py"):
            problems = inspect_support(text, packages, reader.read_base(path))
            taken.problems += [f"{path}, line {problem.line}: {problem.text}" for problem in problems]
    if missing := missing_scenarios(found, blueprint.scenarios):
        known = [name for name in taken.earlier if plain_id(scenario_of(name)) in map(plain_id, missing)]
        before = f"; {known[0].rpartition('::')[2]} was there before and does not count" if known else ""
        taken.problems.append(f"no test for the scenarios {', '.join(missing)}{before}; name one test_{missing[0]}_...")
    return taken


def take_code(answer: str, blueprint: Blueprint, reader: Reader, *, protected: Collection[str]) -> Taken:
    """Take the code; its tests are protected, and what is left of it must be finished work."""
    declared = {path: str(kind) for path, kind in blueprint.declared.items() if path in blueprint.sources}
    taken = _take(answer, declared, (*protected, *blueprint.tests), reader)
    is_plugin = extends_pytest(reader.read_base)
    for path, text in taken.files.items():
        if path.endswith(".py"):
            report = inspect_source(text, path, reader.read_base(path), extends_pytest=is_plugin)
            taken.problems += [f"{path}, line {problem.line}: {problem.text}" for problem in report.problems]
    return taken


def is_test_module(path: str) -> bool:
    """Tell whether the runner looks for tests in a file; others beside it are data, fixtures and helpers."""
    name = path.rpartition("/")[2]
    return fnmatchcase(name, "test_*.py") or fnmatchcase(name, "*_test.py")


def changed_tests(scaffold: Scaffold, reader: Reader) -> list[str]:
    """Say which tests that were there before ask for something else now."""
    modules = {path: text for path, text in scaffold["tests"].items() if is_test_module(path)}
    earlier = {path: base for path in modules if (base := reader.read_base(path)) is not None}
    return [f"{path}: {line}" for path, base in earlier.items() for line in weakened(base, modules[path])]


def selection(scaffold: Scaffold) -> tuple[str, ...]:
    """Return the files of an item that the runner is given."""
    return tuple(path for path in scaffold["tests"] if is_test_module(path))


def skeletons_for(blueprint: Blueprint, reader: Reader) -> Mapping[str, str]:
    """Return modules that can be imported and do nothing, in the place of the code that is not there yet."""
    declared = {path: str(blueprint.declared[path]) for path in blueprint.python_sources}
    return skeletons(declared, reader.read)


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
