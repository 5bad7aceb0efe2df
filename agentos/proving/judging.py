"""Judge what test runs prove: red, green, nothing broken, nothing vacuous."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentos.documents.changes import UnreachableLines
from agentos.proving.causes import (
    Cause,
    causes_of,
    describe_cause,
    find_fault,
    find_old_cause,
)
from agentos.proving.runners.runs import (
    CollectionError,
    FileCoverage,
    TestOutcome,
    TestResult,
    TestRun,
)

DEFAULT_COVERAGE_TARGET = 95.0
_FAILING = (TestOutcome.FAILED, TestOutcome.ERROR)
_RUN = (TestOutcome.PASSED, *_FAILING, TestOutcome.UNFINISHED)
_NOT_RUN = {
    TestOutcome.SKIPPED: "is skipped; a test that does not run proves nothing",
    TestOutcome.XFAILED: "is marked as expected to fail; remove the mark",
    TestOutcome.XPASSED: "is marked as expected to fail; remove the mark",
    TestOutcome.DESELECTED: "is deselected by an option or a hook of the repository",
}
_HIDDEN = "failed before, now it is not run; leave it in the suite as it is"


@dataclass(frozen=True, slots=True)
class ProofRefusal:
    """One reason why a run is not the proof that was asked for."""

    rule: str
    """A short name by which reports count."""
    subject: str
    """The test or file; empty for the run itself."""
    reason: str

    def __str__(self) -> str:
        """Return it as one line."""
        if not self.subject:
            return self.reason
        return f"{self.subject}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Regression:
    """The whole suite before and after a change."""

    refusals: tuple[ProofRefusal, ...]
    known: tuple[str, ...]
    """Tests and files that failed before and still fail."""
    mended: tuple[str, ...]
    """Tests that failed before and pass now."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why the coverage is not enough."""

    percent: float
    target: float
    missing: Mapping[str, FileCoverage]
    """The files with lines that never ran; empty if only the measuring failed."""
    unmeasured: Mapping[str, str]
    """The files that could not be measured, each with the reason if it is known."""

    def __str__(self) -> str:
        """Return it as one line, without the files."""
        return (
            f"{self.percent:.1f}% of the declared files' lines ran, {self.target:g}%"
            " are asked for"
        )


def judge_red(
    run: TestRun,
    expected: Collection[str],
    planned_modules: Collection[str],
    may_pass: Collection[str] = (),
    base: TestRun | None = None,
) -> list[ProofRefusal]:
    """Return why the new tests are not proven to fail for missing behavior.

    `expected` are the ids, without parameters, that were found in the source;
    `planned_modules` the dotted names that the design adds or changes; `may_pass` the
    ids of tests that may pass already; `base` the run of the suite before anything was
    built: what failed for the same cause then is no missing behavior.
    """
    refusals = _judge_run(run, expected)
    if refusals:
        return refusals
    known = causes_of(base or TestRun())
    blocked = []
    for error in run.collection_errors:
        fault = find_fault(error, error.path, planned_modules)
        if not fault:
            fault = _find_old_fault(error, planned_modules, known)
        if fault:
            refusals.append(ProofRefusal("collection-error", error.path, fault))
        else:
            blocked.append(error.path)
    refusals += _judge_collection(run, expected, blocked)
    for test in run.tests:
        refusals += _judge_red_test(test, planned_modules, {*may_pass}, known)
    if not blocked and not _failing(run):
        refusals.append(
            ProofRefusal(
                "no-red", "", "no test fails, so the tests ask for nothing new"
            )
        )
    return refusals


def judge_claims(
    run: TestRun, claims: Mapping[str, Collection[str]]
) -> list[ProofRefusal]:
    """Return the claims for which no test failed; each claim has the ids of its tests,
    without parameters.

    A file that cannot be collected without the code counts as one whose tests fail.
    """
    failing = {test.base for test in run.tests if test.outcome in _FAILING}
    failing |= _failing(run)
    blocked = [error.path for error in run.collection_errors]
    refusals = []
    for claim, names in claims.items():
        if not names or not failing.isdisjoint(names):
            continue
        if any(_is_below(name, blocked) for name in names):
            continue
        listed = ", ".join(sorted(names))
        refusals.append(
            ProofRefusal(
                "no-red",
                claim,
                f"none of its tests fails before the code ({listed}); assert what is"
                " new in it",
            )
        )
    return refusals


def judge_green(
    run: TestRun,
    expected: Collection[str],
    declared: Collection[str],
    coverage_target: float = DEFAULT_COVERAGE_TARGET,
) -> list[ProofRefusal]:
    """Return why the expected tests are not all green, or do not cover the declared
    files together.
    """
    refusals = _judge_run(run, expected)
    if refusals:
        return refusals
    blocked = []
    for error in run.collection_errors:
        blocked.append(error.path)
        cause = describe_cause(error)
        refusals.append(ProofRefusal("collection-error", error.path, cause))
    refusals += _judge_collection(run, expected, blocked)
    for test in run.tests:
        if test.outcome in _FAILING:
            refusals.append(ProofRefusal("fails", test.id, describe_cause(test)))
        elif test.outcome is not TestOutcome.PASSED and _is_among(test, expected):
            refusals.append(_not_run(test))
    return refusals + judge_coverage(run.coverage, declared, coverage_target)


def judge_regression(
    before: TestRun, after: TestRun, may_vanish: Collection[str] = ()
) -> Regression:
    """Return what a change broke; `may_vanish` are the test files that it removes on
    purpose.
    """
    refusals = []
    for when, run in (("before", before), ("after", after)):
        if not run.is_valid:
            refusals.append(
                ProofRefusal(
                    "no-proof",
                    "",
                    f"the suite could not be run {when} the change: {run.problem}",
                )
            )
    if refusals:
        return Regression(tuple(refusals), (), ())
    unreadable = {error.path for error in before.collection_errors}
    blocked = []
    for error in after.collection_errors:
        blocked.append(error.path)
        if error.path not in unreadable:
            cause = describe_cause(error)
            refusals.append(ProofRefusal("new-failure", error.path, cause))
    now = {test.id: test for test in after.tests}
    for name in sorted(before.passed - after.passed):
        if name in now:
            refusals.append(
                ProofRefusal(
                    "new-failure", name, f"passed before, now {_describe(now[name])}"
                )
            )
        elif not _is_below(name, [*blocked, *may_vanish]):
            refusals.append(
                ProofRefusal("vanished", name, "passed before, now it is not collected")
            )
    failed_before = _failing(before) | unreadable
    gone = [*blocked, *may_vanish]
    for name in sorted(failed_before):
        if _is_below(name, gone) or _is_run(name, after):
            continue
        refusals.append(ProofRefusal("vanished", name, _HIDDEN))
    failing_now = _failing(after).union(blocked)
    known = sorted(failed_before & failing_now)
    mended = sorted(failed_before & after.passed)
    return Regression(tuple(refusals), tuple(known), tuple(mended))


def turned_red(green: TestRun, reverted: TestRun) -> frozenset[str]:
    """Return the tests that no longer pass with a file reverted; none if the run is
    invalid.
    """
    if not reverted.is_valid:
        return frozenset()
    return green.passed - reverted.passed


def judge_reverted(
    green: TestRun, reverted: Mapping[str, TestRun], may_pass: Collection[str] = ()
) -> tuple[list[ProofRefusal], list[str]]:
    """Return the declared files that no test needs, and the vacuous tests: those that
    no reverted file turns red.
    """
    refusals = []
    seen: set[str] = set()
    for path, run in sorted(reverted.items()):
        red = turned_red(green, run)
        seen |= red
        if not run.is_valid:
            refusals.append(
                ProofRefusal(
                    "no-proof",
                    path,
                    f"with the file put back, nothing could run: {run.problem}",
                )
            )
        elif not red:
            refusals.append(
                ProofRefusal(
                    "not-needed",
                    path,
                    "with the file put back to its old state, every test passes",
                )
            )
    if not reverted:
        return refusals, []
    exempt = {test.id for test in green.tests if _is_among(test, may_pass)}
    return refusals, sorted(green.passed - seen - exempt)


def find_shortfall(
    coverage: Mapping[str, FileCoverage], declared: Collection[str], target: float
) -> Shortfall | None:
    """Return what is missing if the coverage of the declared files together is below
    the target, or if one could not be measured; else None.
    """
    unmeasured = {}
    measured: dict[str, FileCoverage] = {}
    for name in sorted({*declared}):
        if not name.endswith(".py"):
            continue
        if name not in coverage:
            unmeasured[name] = ""
            continue
        measured[name] = coverage[name]
        if coverage[name].problem:
            unmeasured[name] = coverage[name].problem
    percent = 100 * _fraction(measured.values())
    is_enough = percent >= target
    if is_enough and not unmeasured:
        return None
    missing = {}
    if not is_enough:
        missing = {name: each for name, each in measured.items() if each.missing}
    return Shortfall(percent, target, missing, unmeasured)


def judge_coverage(
    coverage: Mapping[str, FileCoverage], declared: Collection[str], target: float
) -> list[ProofRefusal]:
    """Return why the coverage of the declared files together is below the target, with
    the lines that never ran.
    """
    shortfall = find_shortfall(coverage, declared, target)
    if shortfall is None:
        return []
    refusals = []
    for name, problem in shortfall.unmeasured.items():
        reason = "its coverage was not measured"
        if problem:
            reason = f"{reason}: {problem}"
        refusals.append(ProofRefusal("not-measured", name, reason))
    if shortfall.percent >= target:
        return refusals
    refusals.append(ProofRefusal("coverage", "", str(shortfall)))
    for name, each in shortfall.missing.items():
        lines = name_lines(each)
        reason = f"these lines never ran: {lines}"
        refusals.append(ProofRefusal("coverage", name, reason))
    return refusals


def without_unreachable(
    coverage: Mapping[str, FileCoverage], accepted: Iterable[UnreachableLines]
) -> dict[str, FileCoverage]:
    """Return the coverage without the missing lines that cannot be reached here, as
    far as that was accepted; a line that ran stays counted.
    """
    left = dict(coverage)
    for entry in accepted:
        file = left.get(entry.path)
        if file is None:
            continue
        missing = tuple(line for line in file.missing if line not in entry)
        left[entry.path] = replace(file, missing=missing)
    return left


def name_lines(coverage: FileCoverage) -> str:
    """Return the missing lines as ranges of statements, whatever lines without code are
    between them.
    """
    executed = {*coverage.executed}
    ranges: list[list[int]] = []
    end = 0
    for line in coverage.missing:
        if ranges and executed.isdisjoint(range(end + 1, line)):
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
        end = line
    names = []
    for first, last in ranges:
        if first == last:
            names.append(f"{first}")
        else:
            names.append(f"{first}-{last}")
    return ", ".join(names)


def score(run: TestRun) -> tuple[bool, int, int, float]:
    """Return a key to compare runs by: valid first, then more passed, fewer not passed,
    more lines covered.
    """
    outcomes = [test.outcome for test in run.tests]
    passed = outcomes.count(TestOutcome.PASSED)
    not_passed = len(outcomes) - passed
    not_passed += len(run.collection_errors)
    covered = _fraction(run.coverage.values())
    return run.is_valid, passed, -not_passed, covered


def best_run(runs: Sequence[TestRun]) -> int:
    """Return the number of the best run; of equal ones the last, whose author knew more
    failures.
    """
    return max(range(len(runs)), key=lambda number: (score(runs[number]), number))


def _judge_run(run: TestRun, expected: Collection[str]) -> list[ProofRefusal]:
    if not run.is_valid:
        return [ProofRefusal("no-proof", "", run.problem)]
    if not expected:
        return [ProofRefusal("no-tests", "", "there are no tests to judge by")]
    if not run.tests and not run.collection_errors:
        return [ProofRefusal("no-tests", "", "no test was collected")]
    return []


def _judge_collection(
    run: TestRun, expected: Collection[str], blocked: Sequence[str]
) -> list[ProofRefusal]:
    """Return the expected tests that are missing although their file was read."""
    missing = {*expected}
    for test in run.tests:
        missing -= {test.id, test.base}
    refusals = []
    for name in sorted(missing):
        if _is_below(name, blocked):
            continue
        if _is_below(name, run.skipped_files):
            reason = (
                "its whole file is skipped; a test that does not run proves nothing"
            )
            refusals.append(ProofRefusal("not-run", name, reason))
        else:
            refusals.append(
                ProofRefusal(
                    "not-collected",
                    name,
                    "was not collected; another definition or a hook hides it",
                )
            )
    return refusals


def _find_old_fault(
    failure: TestResult | CollectionError,
    planned: Collection[str],
    known: Mapping[Cause, str],
) -> str:
    """Return why a failure is none of the item's, empty when it may be."""
    old = find_old_cause(failure, planned, known)
    if not old:
        return ""
    cause = describe_cause(failure)
    return (
        f"{cause}; {old} failed for the same cause before anything was built, so this"
        " proves nothing: test the behavior in a way that works here"
    )


def _judge_red_test(
    test: TestResult,
    planned_modules: Collection[str],
    may_pass: Collection[str],
    known: Mapping[Cause, str],
) -> list[ProofRefusal]:
    match test.outcome:
        case TestOutcome.FAILED | TestOutcome.ERROR:
            fault = find_fault(test, test.path, planned_modules)
            if not fault:
                fault = _find_old_fault(test, planned_modules, known)
            if not fault:
                return []
            return [ProofRefusal("own-fault", test.id, fault)]
        case TestOutcome.PASSED if _is_among(test, may_pass):
            return []
        case TestOutcome.PASSED | TestOutcome.XPASSED:
            return [
                ProofRefusal(
                    "passes-already",
                    test.id,
                    "passes before anything is built; assert the new behavior, or say"
                    " that its scenario is kept if it is about what must not change",
                )
            ]
    return [_not_run(test)]


def _is_run(name: str, run: TestRun) -> bool:
    """Tell whether a test ran, or a file was collected."""
    if name in run.skipped_files:
        return True
    for test in run.tests:
        if name == test.id and test.outcome in _RUN:
            return True
        if name == test.path and test.outcome is not TestOutcome.DESELECTED:
            return True
    return False


def _failing(run: TestRun) -> set[str]:
    return {test.id for test in run.tests if test.outcome in _FAILING}


def _is_among(test: TestResult, names: Collection[str]) -> bool:
    """Tell whether a test is listed, with or without its parameters."""
    return test.id in names or test.base in names


def _fraction(files: Iterable[FileCoverage]) -> float:
    executed = 0
    missing = 0
    for each in files:
        executed += len(each.executed)
        missing += len(each.missing)
    if not executed + missing:
        return 1.0
    return executed / (executed + missing)


def _is_below(name: str, paths: Iterable[str]) -> bool:
    """Tell whether a test is in one of these files or folders, or in the folder of a
    `conftest.py` among them.
    """
    path = name.partition("::")[0]
    for each in paths:
        folder = each
        if each.endswith("conftest.py"):
            folder = each.removesuffix("conftest.py").rstrip("/")
        if folder in ("", ".", path):
            return True
        if name.startswith(f"{folder}::") or path.startswith(f"{folder}/"):
            return True
    return False


def _describe(test: TestResult) -> str:
    if test.exception:
        return describe_cause(test)
    return test.outcome.value


def _not_run(test: TestResult) -> ProofRefusal:
    reason = _NOT_RUN.get(test.outcome, "did not run to its end")
    return ProofRefusal("not-run", test.id, reason)
