"""Read the accepted changes from a model's answer.

What is wrong with its form is a slip: the same model is told in the same conversation.
What is wrong with the tests or the code is a problem. Changes of other files are kept in
both cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentos.documents.changes import (
    Change,
    Changes,
    Contest,
    Kept,
    UnreachableLines,
    apply_changes,
    is_pytest_module,
    judge,
    parse_changes,
)
from agentos.documents.changes.contract import NAME_WHOLE, OUTSIDE
from agentos.documents.changes.statements import say_both
from agentos.proving.inspection import (
    SourceProblem,
    TestInventory,
    extends_pytest,
    inspect_source,
    inspect_support,
    inspect_tests,
    lost_names,
    missing_scenarios,
    plain_id,
    scenario_of,
    skeletons,
    weakened,
)
from agentos.state.confinement.folder import PathRefused
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.blueprint import Change as Kind
from agentos.workflows.implementation.existing_tests import Comparison, compare
from agentos.workflows.implementation.importing import command_names, top_level_names
from agentos.workflows.implementation.rendering import Reader
from agentos.workflows.implementation.state import Scaffold

_BEGIN = NAME_WHOLE.format(path="PATH")
NOTHING = f"the answer names no file: {_BEGIN}. {OUTSIDE}"


Made = Sequence[Change]


@dataclass(slots=True)
class AcceptedChanges:
    """The changes of an answer that can be made, and what is wrong with the others."""

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
    """Why the tests or the code cannot be taken."""
    slips: list[str] = field(default_factory=list)
    """What is wrong with the form of the answer; the files it is about are left out."""
    slipped: list[str] = field(default_factory=list)
    """The declared files that these are about."""
    notes: list[str] = field(default_factory=list)
    """How changes were understood that were not quite in the form."""
    blocked: str = ""
    """Why the role cannot go on, empty if it can."""
    contested: tuple[Contest, ...] = ()
    """The tests that the coder says are wrong."""
    made: tuple[Change, ...] = ()
    """The changes that were made, so that none is made twice."""
    kept: tuple[Kept, ...] = ()
    """The scenarios that the test writer says are about behavior that exists."""
    unreachable: tuple[UnreachableLines, ...] = ()
    """The lines that the test writer says no test can reach here."""

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
        self.notes += later.notes
        self.contested += later.contested
        self.made += later.made
        self.kept += later.kept
        self.unreachable += later.unreachable
        self.slips = later.slips
        self.blocked = later.blocked

    def add_problems(self, path: str, problems: Iterable[SourceProblem]) -> None:
        """Add the problems of an inspected file."""
        for problem in problems:
            place = f"{path}, line {problem.line}"
            text = f"{place}: {problem.text}"
            self.problems.append(text)


def read_tests(
    answer: str, blueprint: Blueprint, reader: Reader, made: Made = ()
) -> AcceptedChanges:
    """Read the declared test files of an answer; what was made already is left out."""
    return _accept(answer, blueprint.tests, (), blueprint, reader, made)


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
    # What a slip has left out, or an answer that says why there is nothing, may not lack
    # anything.
    is_whole = not accepted.slips and not accepted.blocked
    if missing and is_whole:
        problem = _say_missing(missing, accepted.existing)
        accepted.problems.append(problem)
    return accepted


def _say_missing(missing: Sequence[str], existing: Iterable[str]) -> str:
    listed = ", ".join(missing)
    problem = f"no test for the scenarios {listed}"
    scenarios = set(map(plain_id, missing))
    for name in existing:
        scenario = plain_id(scenario_of(name))
        if scenario in scenarios:
            _, _, test = name.rpartition("::")
            problem += f"; {test} was there before and does not count"
            break
    first = missing[0]
    return f"{problem}; name one test_{first}_..."


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
            id = f"{path}::{test.name}"
            accepted.names.append(id)
    for name in comparison.existing:
        id = f"{path}::{name}"
        accepted.existing.append(id)
    accepted.add_problems(path, inventory.problems)
    for name in comparison.lost:
        problem = f"{path}: {name} was there and is gone; leave it in"
        accepted.problems.append(problem)
    return replace(inventory, names=tuple(new))


def read_code(
    answer: str,
    blueprint: Blueprint,
    reader: Reader,
    made: Made = (),
    *,
    protected: Collection[str],
) -> AcceptedChanges:
    """Read the declared code files of an answer; tests are not the coder's to change,
    and what was made already is left out.
    """
    tests = (*protected, *blueprint.tests)
    return _accept(answer, blueprint.sources, tests, blueprint, reader, made)


def inspect_written_code(
    paths: Iterable[str], reader: Reader, design: str
) -> list[str]:
    """Return what is unfinished or forbidden in the code as it is now, and what is gone
    from it though the design does not say so.
    """
    accepted = AcceptedChanges()
    is_plugin = extends_pytest(reader.read_base)
    for path in paths:
        text = reader.read(path)
        if text is None or not path.endswith(".py"):
            continue
        base = reader.read_base(path)
        report = inspect_source(text, path, base, extends_pytest=is_plugin)
        accepted.add_problems(path, report.problems)
        if not report.problems:
            accepted.add_problems(path, lost_names(text, path, base, design))
    return accepted.problems


def changed_tests(scaffold: Scaffold, reader: Reader) -> list[str]:
    """Describe the existing tests that the item weakens."""
    lines: list[str] = []
    for path in selection(scaffold):
        base = reader.read_base(path)
        if base is None:
            continue
        text = scaffold["tests"][path]
        for weaker in weakened(base, text):
            line = f"{path}: {weaker}"
            lines.append(line)
    return lines


def selection(scaffold: Scaffold) -> tuple[str, ...]:
    """Return the test files of an item that the runner runs."""
    paths = scaffold["tests"]
    return tuple(filter(is_pytest_module, paths))


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
    made: Made,
) -> AcceptedChanges:
    declared = _changes_of(blueprint, paths)
    parsed = parse_changes(answer, expected_files(declared))
    accepted = AcceptedChanges(
        blocked=parsed.blocked,
        contested=parsed.contested,
        kept=parsed.kept,
        unreachable=parsed.unreachable,
    )
    if parsed.blocked and parsed.changes:
        accepted.blocked = ""
        slip = say_both()
        accepted.slips.append(slip)
        return accepted
    slips = accepted.slips
    for problem in parsed.problems:
        slips.append(problem.text)
    judgment = judge(parsed.changes, declared=declared, protected=protected)
    for refusal in judgment.refusals:
        slips.append(refusal.text)
    # A model that is told of a slip may send the good part once more.
    new = [change for change in judgment.allowed if change not in made]
    changes = _leave_out_unreadable(accepted, new, reader)
    applied = apply_changes(changes, reader.read)
    accepted.files = applied.files
    accepted.deleted = applied.deleted
    accepted.notes = applied.notes
    slips += applied.slips
    accepted.slipped = _named_in(slips, declared)
    applied_to = {*applied.files, *applied.deleted}
    for change in judgment.extras:
        path = change.path
        if path in applied_to:
            accepted.extras[path] = change.reason
    done = [change for change in changes if change.path in applied_to]
    accepted.made = tuple(done)
    if _says_nothing(parsed):
        accepted.slips.append(NOTHING)
    return accepted


def _named_in(slips: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Return the files that slips speak of."""
    said = "\n".join(slips)
    named = []
    for path in paths:
        quoted = f"`{path}`"
        if quoted in said:
            named.append(path)
    return named


def _leave_out_unreadable(
    accepted: AcceptedChanges, changes: Iterable[Change], reader: Reader
) -> list[Change]:
    """Return the changes of files whose present text can be read, or that are new."""
    kept = []
    for change in changes:
        try:
            reader.read(change.path)
        except PathRefused as error:
            slip = str(error)
            accepted.slips.append(slip)
        else:
            kept.append(change)
    return kept


def expected_files(declared: Mapping[str, str]) -> list[str]:
    """Return the files that an answer may mean without saying so."""
    paths = []
    for path, change in declared.items():
        is_gone = change == Kind.DELETE
        if not is_gone and not path.endswith("/"):
            paths.append(path)
    return paths


def _says_nothing(parsed: Changes) -> bool:
    if parsed.changes or parsed.problems:
        return False
    if parsed.blocked or parsed.contested:
        return False
    return not (parsed.kept or parsed.unreachable)
