"""Read the accepted changes from a model's answer; each problem becomes a line for the
next attempt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentos.documents.changes import (
    Change,
    Deletion,
    EditedFile,
    EditRefused,
    WholeFile,
    apply_edits,
    is_pytest_module,
    judge,
    parse_changes,
)
from agentos.proving.inspection import (
    SourceProblem,
    TestInventory,
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
from agentos.workflows.implementation.existing_tests import Comparison, compare
from agentos.workflows.implementation.importing import command_names, top_level_names
from agentos.workflows.implementation.rendering import Reader
from agentos.workflows.implementation.state import Scaffold

NOTHING = "the answer names no file; begin each block with a line `# File: path`"


@dataclass(frozen=True, slots=True)
class Contest:
    """A test that the coder says is wrong."""

    test: str
    reason: str


@dataclass(slots=True)
class AcceptedChanges:
    """The changes of an answer, and the problems in it."""

    files: dict[str, str] = field(default_factory=dict)
    """The new texts by path."""
    deleted: list[str] = field(default_factory=list)
    extras: dict[str, str] = field(default_factory=dict)
    """Files that the design does not declare, with the reasons given."""
    names: list[str] = field(default_factory=list)
    """Ids that the runner gives to the new and changed tests."""
    existing: list[str] = field(default_factory=list)
    """Ids of the tests that the files already held."""
    problems: list[str] = field(default_factory=list)
    slips: list[str] = field(default_factory=list)
    """What could not be applied for a formal reason."""
    slipped: list[str] = field(default_factory=list)
    """The paths of what could not be applied."""
    notes: list[str] = field(default_factory=list)
    """How edits were matched that did not match exactly."""
    blocked: str = ""
    """Why the model cannot go on."""
    contested: list[Contest] = field(default_factory=list)

    @property
    def has_changes(self) -> bool:
        """Whether anything is written or deleted."""
        return bool(self.files or self.deleted)

    @property
    def names_nothing(self) -> bool:
        """Whether the answer has no change and no malformed one."""
        return self.slips == [NOTHING]

    def add(self, later: AcceptedChanges) -> None:
        """Add what a later answer of the same attempt changes; only its slips are still
        open.
        """
        for path in later.files:
            if path in self.deleted:
                self.deleted.remove(path)
        self.files |= later.files
        self.deleted += later.deleted
        self.extras |= later.extras
        self.problems += later.problems
        self.notes += later.notes
        self.contested += later.contested
        self.slips = later.slips
        self.blocked = later.blocked

    def add_problems(self, path: str, problems: Iterable[SourceProblem]) -> None:
        """Add the problems of an inspected file."""
        for problem in problems:
            text = f"{path}, line {problem.line}: {problem.text}"
            self.problems.append(text)


def read_tests(answer: str, blueprint: Blueprint, reader: Reader) -> AcceptedChanges:
    """Read the declared test files of an answer."""
    return _accept(answer, blueprint.tests, (), blueprint, reader)


def inspect_written_tests(
    files: Mapping[str, str],
    blueprint: Blueprint,
    reader: Reader,
    known_conditions: Collection[str] = (),
) -> AcceptedChanges:
    """Find the item's tests in its test files, and refuse those that prove nothing;
    `known_conditions` are those under which tests of the repository are skipped.
    """
    accepted = AcceptedChanges(files=dict(files))
    inventories = []
    packages = top_level_names(blueprint, reader)
    subjects = blueprint.subjects | command_names(reader)
    for path, text in files.items():
        if not path.endswith(".py"):
            continue
        base = reader.read_base(path)
        if is_pytest_module(path):
            inventory = inspect_tests(
                text,
                path,
                packages=packages,
                base_text=base,
                subjects=subjects,
                known_conditions=known_conditions,
            )
            comparison = compare(text, base)
            new = _add_tests(accepted, path, inventory, comparison)
            inventories.append(new)
        else:
            problems = inspect_support(text, packages, base)
            accepted.add_problems(path, problems)
    missing = missing_scenarios(inventories, blueprint.scenarios)
    if missing:
        accepted.problems.append(_say_missing(missing, accepted.existing))
    return accepted


def _say_missing(missing: Sequence[str], existing: Iterable[str]) -> str:
    listed = ", ".join(missing)
    problem = f"no test for the scenarios {listed}"
    scenarios = set(map(plain_id, missing))
    for name in existing:
        scenario = scenario_of(name)
        if plain_id(scenario) in scenarios:
            test = name.rpartition("::")[2]
            problem += f"; {test} was there before and does not count"
            break
    return f"{problem}; name one test_{missing[0]}_..."


def _add_tests(
    accepted: AcceptedChanges,
    path: str,
    inventory: TestInventory,
    comparison: Comparison,
) -> TestInventory:
    """Add the tests of a module; return the inventory with the new tests only."""
    new = []
    for test in inventory.names:
        if test.name in comparison.new:
            new.append(test)
            accepted.names.append(f"{path}::{test.name}")
    accepted.existing += [f"{path}::{name}" for name in comparison.existing]
    accepted.add_problems(path, inventory.problems)
    for name in comparison.lost:
        problem = f"{path}: {name} was there and is gone; leave it in"
        accepted.problems.append(problem)
    return replace(inventory, names=tuple(new))


def accept_code(
    answer: str, blueprint: Blueprint, reader: Reader, *, protected: Collection[str]
) -> AcceptedChanges:
    """Accept the declared code files, and refuse changed tests and unfinished code."""
    tests = (*protected, *blueprint.tests)
    accepted = _accept(answer, blueprint.sources, tests, blueprint, reader)
    is_plugin = extends_pytest(reader.read_base)
    for path, text in accepted.files.items():
        if not path.endswith(".py"):
            continue
        base = reader.read_base(path)
        report = inspect_source(text, path, base, extends_pytest=is_plugin)
        accepted.add_problems(path, report.problems)
    return accepted


def changed_tests(scaffold: Scaffold, reader: Reader) -> list[str]:
    """Describe the existing tests that the item weakens."""
    lines: list[str] = []
    for path in selection(scaffold):
        base = reader.read_base(path)
        if base is None:
            continue
        weaker = weakened(base, scaffold["tests"][path])
        lines += [f"{path}: {line}" for line in weaker]
    return lines


def selection(scaffold: Scaffold) -> tuple[str, ...]:
    """Return the test files of an item that the runner runs."""
    return tuple(path for path in scaffold["tests"] if is_pytest_module(path))


def skeletons_for(blueprint: Blueprint, reader: Reader) -> Mapping[str, str]:
    """Return importable modules that do nothing, to stand in for the missing code."""
    declared = _changes_of(blueprint, blueprint.python_sources)
    return skeletons(declared, reader.read)


def _changes_of(blueprint: Blueprint, paths: Iterable[str]) -> dict[str, str]:
    changes = {}
    for path in paths:
        change = blueprint.declared[path]
        changes[path] = str(change)
    return changes


def _accept(
    answer: str,
    paths: Iterable[str],
    protected: Sequence[str],
    blueprint: Blueprint,
    reader: Reader,
) -> AcceptedChanges:
    parsed = parse_changes(answer)
    accepted = AcceptedChanges()
    accepted.slips += [problem.text for problem in parsed.problems]
    if not parsed.changes and not accepted.slips:
        accepted.slips.append(NOTHING)
    judgment = judge(
        parsed.changes,
        declared=_changes_of(blueprint, paths),
        protected=protected,
    )
    accepted.slips += [refusal.text for refusal in judgment.refusals]
    for change in judgment.extras:
        accepted.extras[change.path] = change.reason
    for change in judgment.allowed:
        _add(accepted, change, reader)
    return accepted


def _add(accepted: AcceptedChanges, change: Change, reader: Reader) -> None:
    path = change.path
    match change:
        case Deletion():
            accepted.deleted.append(path)
        case WholeFile() if change.is_cut:
            accepted.slips.append(
                f"Line {change.line}: the block of `{path}` is not closed; give it whole"
            )
        case WholeFile():
            accepted.files[path] = change.text
        case EditedFile() if change.is_cut:
            accepted.slips.append(
                f"Line {change.line}: the edit of `{path}` is not closed; give it whole"
            )
        case EditedFile():
            text = accepted.files.get(path)
            if text is None:
                text = reader.read(path) or ""
            try:
                accepted.files[path] = apply_edits(text, change.edits)
            except EditRefused as error:
                accepted.slips.append(f"`{path}`: {error}")
