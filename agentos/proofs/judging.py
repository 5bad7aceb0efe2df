"""Judge what runs of the tests prove: red, green, nothing broken, nothing vacuous."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentos.proofs.causes import find_fault, name_cause
from agentos.proofs.runs import FileCoverage, Outcome, TestResult, TestRun

DEFAULT_COVERAGE_TARGET = 95.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a run is not the proof that was asked for."""

    rule: str
    """A short name that reports count by."""
    subject: str
    """The test or file; empty when it is the run itself."""
    reason: str

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.subject}: {self.reason}" if self.subject else self.reason


@dataclass(frozen=True, slots=True)
class Regression:
    """The whole suite before and after a change."""

    refusals: tuple[Refusal, ...]
    known: tuple[str, ...]
    """Tests and files that were not well before, and are not now."""
    mended: tuple[str, ...]
    """Tests that were not well before, and pass now."""


def judge_red(
    run: TestRun, expected: Collection[str], planned_modules: Collection[str], may_pass: Collection[str] = ()
) -> list[Refusal]:
    """Return why the new tests are not proven to fail for the behaviour that is to be built.

    `expected` are the ids, without parameters, that were counted in the source; `planned_modules` the dotted names
    that the design adds or changes; `may_pass` the ids of tests that hold already.
    """
    refusals = _judge_run(run, expected)
    if refusals:
        return refusals
    blocked = []
    for error in run.collection_errors:
        if fault := find_fault(error, error.path, planned_modules):
            refusals.append(Refusal("collection-error", error.path, fault))
        else:
            blocked.append(error.path)
    refusals += _judge_collection(run, expected, blocked)
    for test in run.tests:
        refusals += _judge_red_test(test, planned_modules, {*may_pass})
    if not blocked and not any(test.outcome in (Outcome.FAILED, Outcome.ERROR) for test in run.tests):
        refusals.append(Refusal("no-red", "", "no test fails, so the tests ask for nothing new"))
    return refusals


def _judge_red_test(test: TestResult, planned_modules: Collection[str], may_pass: set[str]) -> list[Refusal]:
    if test.outcome in (Outcome.FAILED, Outcome.ERROR):
        fault = find_fault(test, test.path, planned_modules)
        return [Refusal("own-fault", test.id, fault)] if fault else []
    if test.outcome in (Outcome.PASSED, Outcome.XPASSED):
        if may_pass & {test.id, test.base} and test.outcome is Outcome.PASSED:
            return []
        return [Refusal("passes-already", test.id, "passes before anything is built; assert the new behaviour")]
    return [_not_run(test)]


def judge_green(
    run: TestRun,
    expected: Collection[str],
    declared: Collection[str],
    coverage_target: float = DEFAULT_COVERAGE_TARGET,
) -> list[Refusal]:
    """Return why the expected tests are not all green, or do not cover the declared files together."""
    refusals = _judge_run(run, expected)
    if refusals:
        return refusals
    refusals += [Refusal("collection-error", error.path, name_cause(error)) for error in run.collection_errors]
    refusals += _judge_collection(run, expected, [error.path for error in run.collection_errors])
    for test in run.tests:
        if test.outcome in (Outcome.FAILED, Outcome.ERROR):
            refusals.append(Refusal("fails", test.id, name_cause(test)))
        elif test.outcome is not Outcome.PASSED and ({test.id, test.base} & {*expected}):
            refusals.append(_not_run(test))
    return refusals + judge_coverage(run.coverage, declared, coverage_target)


def judge_regression(before: TestRun, after: TestRun, may_vanish: Collection[str] = ()) -> Regression:
    """Return what a change broke; `may_vanish` are the test files that it removes on purpose."""
    refusals = [
        Refusal("no-proof", "", f"the suite could not be run {when} the change: {run.problem}")
        for when, run in (("before", before), ("after", after))
        if not run.is_valid
    ]
    if refusals:
        return Regression(tuple(refusals), (), ())
    now = {test.id: test for test in after.tests}
    unreadable = {error.path for error in before.collection_errors}
    refusals += [
        Refusal("new-failure", error.path, name_cause(error))
        for error in after.collection_errors
        if error.path not in unreadable
    ]
    blocked = [error.path for error in after.collection_errors]
    for name in sorted(before.passed - after.passed):
        if name in now:
            refusals.append(Refusal("new-failure", name, f"passed before, now {_describe(now[name])}"))
        elif not _is_below(name, blocked) and not _is_below(name, may_vanish):
            refusals.append(Refusal("vanished", name, "passed before, now it is not collected"))
    ill_before = {test.id for test in before.tests if test.outcome in (Outcome.FAILED, Outcome.ERROR)} | unreadable
    ill_now = {test.id for test in after.tests if test.outcome in (Outcome.FAILED, Outcome.ERROR)} | {*blocked}
    return Regression(tuple(refusals), tuple(sorted(ill_before & ill_now)), tuple(sorted(ill_before & after.passed)))


def turned_red(green: TestRun, reverted: TestRun) -> frozenset[str]:
    """Return the tests that passed and do so no more with a file put back; a run that proves nothing turns none."""
    return green.passed - reverted.passed if reverted.is_valid else frozenset()


def judge_reverted(
    green: TestRun, reverted: Mapping[str, TestRun], may_pass: Collection[str] = ()
) -> tuple[list[Refusal], list[str]]:
    """Return the declared files that no test needs, and the vacuous tests: those that no reverted file turns red."""
    refusals = []
    seen: set[str] = set()
    for path, run in sorted(reverted.items()):
        red = turned_red(green, run)
        seen |= red
        if not run.is_valid:
            refusals.append(Refusal("no-proof", path, f"with the file put back, nothing could run: {run.problem}"))
        elif not red:
            refusals.append(Refusal("not-needed", path, "with the file put back to its old state, every test passes"))
    bases = {test.id: test.base for test in green.tests}
    exempt = {*may_pass}
    vacuous = [name for name in sorted(green.passed - seen) if not exempt & {name, bases[name]}]
    return refusals, vacuous if reverted else []


def score(run: TestRun) -> tuple[bool, int, int, float]:
    """Return what runs are compared by: a valid one first, then more passed, fewer not passed, more lines covered."""
    passed = sum(test.outcome is Outcome.PASSED for test in run.tests)
    not_passed = len(run.tests) - passed + len(run.collection_errors)
    return run.is_valid, passed, -not_passed, _fraction(run.coverage.values())


def best_run(runs: Sequence[TestRun]) -> int:
    """Return the number of the best run; of equals the last, which was written knowing more failures."""
    return max(range(len(runs)), key=lambda number: (score(runs[number]), number))


def _judge_run(run: TestRun, expected: Collection[str]) -> list[Refusal]:
    if not run.is_valid:
        return [Refusal("no-proof", "", run.problem)]
    if not expected:
        return [Refusal("no-tests", "", "there are no tests to judge by")]
    if not run.tests and not run.collection_errors:
        return [Refusal("no-tests", "", "no test was collected")]
    return []


def _judge_collection(run: TestRun, expected: Collection[str], blocked: Sequence[str]) -> list[Refusal]:
    """Return the expected tests that did not show up though their file was read."""
    found = {name for test in run.tests for name in (test.id, test.base)}
    missing = [name for name in sorted({*expected} - found) if not _is_below(name, blocked)]
    return [
        Refusal("not-run", name, "its whole file is skipped; a test that does not run proves nothing")
        if _is_below(name, run.skipped_files)
        else Refusal("not-collected", name, "was not collected; another definition or a hook hides it")
        for name in missing
    ]


def judge_coverage(coverage: Mapping[str, FileCoverage], declared: Collection[str], target: float) -> list[Refusal]:
    """Return why the declared files together are not covered up to the target, with the lines that never ran."""
    files = sorted({name for name in declared if name.endswith(".py")})
    refusals = []
    for name in files:
        if name not in coverage:
            refusals.append(Refusal("not-measured", name, "its coverage was not measured"))
        elif coverage[name].problem:
            refusals.append(Refusal("not-measured", name, f"its coverage was not measured: {coverage[name].problem}"))
    measured = {name: coverage[name] for name in files if name in coverage}
    percent = 100 * _fraction(measured.values())
    if percent < target:
        reason = f"{percent:.1f}% of the declared files' lines ran, {target:g}% are asked for"
        refusals.append(Refusal("coverage", "", reason))
        for name, each in measured.items():
            if each.missing:
                refusals.append(Refusal("coverage", name, f"these lines never ran: {name_lines(each)}"))
    return refusals


def name_lines(coverage: FileCoverage) -> str:
    """Return the missing lines as ranges; statements that follow one another, whatever blank lines are between."""
    executed = {*coverage.executed}
    ranges: list[list[int]] = []
    for line in coverage.missing:
        if ranges and not any(between in executed for between in range(ranges[-1][1] + 1, line)):
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ", ".join(f"{first}-{last}" if first != last else f"{first}" for first, last in ranges)


def _fraction(files: Iterable[FileCoverage]) -> float:
    ran = missing = 0
    for each in files:
        ran += len(each.executed)
        missing += len(each.missing)
    return ran / (ran + missing) if ran + missing else 1.0


def _is_below(name: str, paths: Iterable[str]) -> bool:
    """Tell whether a test belongs to one of these files, folders, or to a conftest's folder."""
    path = name.partition("::")[0]
    for each in paths:
        folder = each.removesuffix("conftest.py").rstrip("/") if each.endswith("conftest.py") else each
        if path == folder or name.startswith(f"{folder}::") or path.startswith(f"{folder}/") or folder in ("", "."):
            return True
    return False


def _describe(test: TestResult) -> str:
    return name_cause(test) if test.exception else test.outcome.value


def _not_run(test: TestResult) -> Refusal:
    words = {
        Outcome.SKIPPED: "is skipped; a test that does not run proves nothing",
        Outcome.XFAILED: "is marked as expected to fail; remove the mark",
        Outcome.XPASSED: "is marked as expected to fail; remove the mark",
        Outcome.DESELECTED: "is deselected by an option or a hook of the repository",
    }
    return Refusal("not-run", test.id, words.get(test.outcome, "did not run to its end"))
