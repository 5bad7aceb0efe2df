"""Judge the test runs of one item and word the result for the next attempt (pure)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Any

from agentos.documents.changes import UnreachableLines
from agentos.errors import BadInput
from agentos.proving.causes import (
    describe_cause,
    failures_of,
    group_by_cause,
    name_of,
)
from agentos.proving.feedback import write_feedback
from agentos.proving.inspection import idle_tests, plain_id, scenario_of
from agentos.proving.judging import (
    ProofRefusal,
    Shortfall,
    find_shortfall,
    judge_claims,
    judge_coverage,
    judge_green,
    judge_red,
    judge_regression,
    judge_reverted,
    score,
    without_unreachable,
)
from agentos.proving.runners.runs import FileCoverage, TestRun
from agentos.proving.skipping import describe_skipped, skip_reasons
from agentos.state.terminal_text import clean_text
from agentos.state.wording import count
from agentos.workflows.implementation.blueprint import Blueprint, Change
from agentos.workflows.implementation.existing_tests import without_existing
from agentos.workflows.implementation.importing import planned_modules
from agentos.workflows.implementation.kept import Kept, decide_kept
from agentos.workflows.implementation.rendering import Reader
from agentos.workflows.implementation.state import (
    ImplementationState,
    Iteration,
    Scaffold,
)

NOTHING_KEPT = Kept()
_INSTALLED_BY = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})
_LONGEST_LINE = 600
_LONGEST_NAME = 2_000
_MOST_NAMED = 3
_NO_PYTEST = "No module named 'pytest'"
_PAGE = 4_000
REFUSED = "The tests were not run, because of this:"
_IDLE = "passes, and none of its assertions ran; return what it asserts something about"


def own_tests(run: TestRun, scaffold: Scaffold) -> TestRun:
    """Return a run of the item's test files with the item's own tests only."""
    run = replace(run, coverage={})
    return without_existing(run, scaffold["names"], scaffold.get("earlier", ()))


def find_kept(state: ImplementationState, blueprint: Blueprint) -> Kept:
    """Return what the item must not change, by the design, the reviewer of its plan and
    the writer of its last tests.
    """
    runnable = {}
    for requirement, scenarios in blueprint.covered_by.items():
        runnable[requirement] = set(scenarios).intersection(blueprint.scenarios)
    said: Mapping[str, str] = {}
    if state["scaffolds"]:
        said = state["scaffolds"][-1].get("kept", {})
    return decide_kept(
        blueprint.kept,
        runnable,
        confirmed=state.get("kept", ()),
        denied=state.get("changed", ()),
        said=said,
    )


def refuse_red(
    run: TestRun,
    scaffold: Scaffold,
    blueprint: Blueprint,
    reader: Reader,
    *,
    kept: Kept = NOTHING_KEPT,
    before: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the reasons why the tests do not fail for the missing behavior; `before`
    is the run of the suite without the item.
    """
    planned = planned_modules(blueprint, reader)
    names = scaffold["names"]
    may_pass = _may_pass(scaffold, kept)
    base = _read_run(before or {})
    if not _INSTALLED_BY.isdisjoint(blueprint.declared):
        # What is missing on the base may be the command or package that is built.
        base = TestRun()
    refusals = judge_red(run, names, planned, may_pass, base)
    if not refusals:
        claims = _tests_by_requirement(names, blueprint, kept)
        refusals = judge_claims(run, claims)
        return [_say_unclaimed(refusal, blueprint) for refusal in refusals]
    return list(map(str, refusals))


def _say_unclaimed(refusal: ProofRefusal, blueprint: Blueprint) -> str:
    """Say of a requirement that no test of it failed, and whose word would do."""
    reason = str(refusal)
    if refusal.subject in blueprint.kept.requirements:
        reason += (
            "; it sounds like what must not change, but neither the reviewer of the"
            " test plan nor the Type of its scenarios says so"
        )
    return reason


def _tests_by_requirement(
    names: Sequence[str], blueprint: Blueprint, kept: Kept
) -> dict[str, list[str]]:
    """Return the tests of each requirement that asks for something new."""
    by_scenario: dict[str, list[str]] = {}
    for name in names:
        scenario = plain_id(scenario_of(name))
        tests = by_scenario.setdefault(scenario, [])
        tests.append(name)
    found = {}
    for requirement, scenarios in blueprint.covered_by.items():
        if requirement in kept.requirements:
            continue
        found[requirement] = tests = []
        for scenario in scenarios:
            tests += by_scenario.get(scenario, ())
    return found


def say_base(run: TestRun) -> str:
    """Return one line about the suite before anything is changed, for a person."""
    failing = list(map(name_of, failures_of(run)))
    if not run.tests and not failing:
        return "before: the repository has no tests"
    line = f"before: {len(run.passed)} passed"
    skipped = skip_reasons(run)
    if skipped:
        line += f", {len(skipped)} skipped"
    if not failing:
        return line
    verb = "fails" if len(failing) == 1 else "fail"
    listed = ", ".join(failing[:_MOST_NAMED])
    line += f", {len(failing)} {verb} already: {listed}"
    more = len(failing) - _MOST_NAMED
    if more > 0:
        line += f" and {more} more"
    return line


def describe_base(run: TestRun, missing_extras: Sequence[str] = ()) -> str:
    """Describe the suite before anything is changed for a model, within a page: how
    much passes, what is skipped and which optional packages are missing, and what fails
    already, by cause.
    """
    failures = failures_of(run)
    if not run.tests and not failures:
        return "The repository has no tests yet."
    passing = len(run.passed)
    verb = "passes" if passing == 1 else "pass"
    tests = count(passing, "test")
    lines = [f"{tests} of the repository {verb} before any change."]
    lines += describe_skipped(run)
    lines += say_missing(missing_extras)
    if not failures:
        return _within_a_page(lines)
    lines.append(
        f"{len(failures)} fail already. They count against nobody, and a new test that"
        " fails for one of these causes proves nothing:"
    )
    for group in group_by_cause(failures):
        names = ", ".join(group.names)
        line = f"- {group.description}: {names}"
        lines.append(line)
    return _within_a_page(lines)


def describe_suite_before(state: ImplementationState) -> str:
    """Describe the suite on the item's base for a model."""
    run = _read_run(state["before"])
    return describe_base(run, state.get("missing_extras", ()))


def say_missing(extras: Sequence[str]) -> list[str]:
    """Return a line on the optional packages that the test environment lacks."""
    if not extras:
        return []
    listed = "; ".join(extras)
    return [
        "Declared as optional and not installed where the tests run, so that a test that"
        f" needs one is skipped: {listed}"
    ]


def _within_a_page(lines: Sequence[str]) -> str:
    """Return the lines as a text of limited size."""
    kept: list[str] = []
    room = _PAGE
    for number, line in enumerate(lines):
        if len(line) > _LONGEST_LINE:
            line = f"{line[:_LONGEST_LINE]} [...]"
        room -= len(line) + 1
        if room < 0:
            kept.append(f"[{len(lines) - number} more lines]")
            break
        kept.append(line)
    return clean_text("\n".join(kept)).decode()


def check_base(suite: TestRun) -> None:
    """Raise `BadInput` if the suite cannot run without the item: no generated code could
    repair that.
    """
    if _NO_PYTEST in suite.problem:
        raise BadInput(
            "the repository's environment has no pytest, which runs its tests; declare"
            ' it as a test dependency, such as [dependency-groups] test = ["pytest"]'
        )
    if not suite.is_valid:
        raise BadInput(
            "the repository's own suite cannot be run before anything is built:"
            f" {_first_and_last_line(suite.problem)}; fix it, or raise --test-timeout"
        )
    if suite.collection_errors and not suite.tests:
        cause = describe_cause(suite.collection_errors[0])
        raise BadInput(
            f"none of the repository's tests can be collected: {cause}; declare its"
            " test dependencies"
        )


def _first_and_last_line(text: str) -> str:
    lines = text.strip().splitlines()
    if len(lines) < 2:
        return text
    return f"{lines[0]}: {lines[-1].strip()}"


def as_state(run: TestRun) -> dict[str, Any]:
    """Return a run as plain JSON values, as the checkpoint stores it."""
    data: dict[str, Any] = json.loads(json.dumps(run.as_data()))
    return data


def refuse_green(run: TestRun, names: Sequence[str]) -> list[str]:
    """Return the reasons why the tests are not all green."""
    return list(map(str, judge_green(run, names, (), 0)))


def refuse_idle(
    run: TestRun, scaffold: Scaffold, held: Collection[str] = ()
) -> list[str]:
    """Return the item's tests that passed although none of their assertions ran, without
    those that are held out; the run has the lines of the tests as its coverage.
    """
    refusals = []
    for path, text in scaffold["tests"].items():
        file = run.coverage.get(path)
        if file is None or file.problem:
            continue
        for name in idle_tests(text, file.executed):
            id = f"{path}::{name}"
            if id in scaffold["names"] and id not in held:
                refusals.append(f"{id}: {_IDLE}")
    return refusals


def refuse_coverage(
    suite: TestRun,
    measured: Sequence[str],
    reader: Reader,
    target: float,
    unreachable: Iterable[UnreachableLines] = (),
) -> list[str]:
    """Return the lines of the measured files that no test covers, if there are too
    many.

    Lines that the item did not change do not count, and neither do those of which it
    is accepted that they cannot be reached here.
    """
    if not suite.is_valid:
        return []
    coverage = _counted(suite, reader, unreachable)
    return list(map(str, judge_coverage(coverage, measured, target)))


def coverage_shortfall(
    suite: TestRun,
    measured: Sequence[str],
    reader: Reader,
    target: float,
    unreachable: Iterable[UnreachableLines] = (),
) -> Shortfall | None:
    """Return what the tests lack, for their writer; None if they cover enough."""
    if not suite.is_valid:
        return None
    coverage = _counted(suite, reader, unreachable)
    return find_shortfall(coverage, measured, target)


def show_shortfall(shortfall: Shortfall, reader: Reader) -> str:
    """Show the lines that no test runs, within a page."""
    lines = [f"{shortfall}. No test runs these lines:"]
    for path, file in shortfall.missing.items():
        lines.append(f"{path}:")
        text = reader.read(path) or ""
        source = text.splitlines()
        for number in file.missing:
            code = source[number - 1] if number <= len(source) else ""
            line = f"{number:>5}  {code}"
            lines.append(line)
    lines += [f"{path}: could not be measured" for path in shortfall.unmeasured]
    return _within_a_page(lines)


def coverage_of_changes(suite: TestRun, reader: Reader) -> dict[str, FileCoverage]:
    """Return the coverage of the lines that the item changes."""
    return _counted(suite, reader, ())


def _counted(
    suite: TestRun, reader: Reader, unreachable: Iterable[UnreachableLines]
) -> dict[str, FileCoverage]:
    """Return the coverage without missing lines that the item left as they were, and
    without those of which it is accepted that they cannot be reached here.
    """
    coverage = {}
    for path, file in suite.coverage.items():
        coverage[path] = _without_unchanged_lines(path, file, reader)
    return without_unreachable(coverage, unreachable)


def _without_unchanged_lines(
    path: str, file: FileCoverage, reader: Reader
) -> FileCoverage:
    """Drop the missing lines that the item left as they were."""
    base = reader.read_base(path)
    if base is None or not file.missing:
        return file
    text = reader.read(path) or ""
    matcher = SequenceMatcher(None, base.splitlines(), text.splitlines())
    unchanged: set[int] = set()
    for block in matcher.get_matching_blocks():
        # Coverage counts lines from one, the matcher from zero.
        first = block.b + 1
        unchanged.update(range(first, first + block.size))
    missing = [line for line in file.missing if line not in unchanged]
    return replace(file, missing=tuple(missing))


def refuse_regression(
    suite: TestRun, before: Mapping[str, Any], blueprint: Blueprint
) -> list[str]:
    """Return the tests that the change broke, removed or skipped."""
    regression = judge_regression(
        TestRun.from_data(before), suite, blueprint.removed_tests
    )
    return list(map(str, regression.refusals))


def test_feedback(
    run: TestRun, refusals: Sequence[str], before: Mapping[str, Any]
) -> str:
    """Write the feedback on a run: the reasons that no failure shows, then the failures
    by cause, at the end those that were there `before`.
    """
    if not refusals:
        return ""
    old = set(map(name_of, failures_of(_read_run(before))))
    shown = set(map(name_of, failures_of(run)))
    lines = [f"- {reason}" for reason in refusals if not _is_about(reason, shown)]
    reasons = ""
    if lines:
        reasons = f"{_within_a_page(lines)}\n\n"
    return reasons + write_feedback(run, old=old)


def _is_about(reason: str, names: Collection[str]) -> bool:
    """Tell whether a reason begins with one of the names."""
    end = reason.find(": ")
    while end >= 0:
        if reason[:end] in names:
            return True
        end = reason.find(": ", end + 1, _LONGEST_NAME)
    return False


def refusal_feedback(problems: Sequence[str]) -> str:
    """Write the feedback on an answer that was not written to the worktree."""
    if not problems:
        return ""
    lines = [f"- {problem}" for problem in problems]
    return "\n".join([REFUSED, *lines])


def best_iteration(
    iterations: Sequence[Iteration], before: Mapping[str, Any]
) -> Iteration | None:
    """Return the best attempt, the latest of equals; None if no attempt was tested.

    Attempts are ranked by their own tests, then by what they broke in the whole suite,
    then by the score of the suite, which includes coverage.
    """
    baseline = _read_run(before)
    best = None
    highest: tuple[Any, ...] = ()
    for iteration in iterations:
        if not iteration["run"]:
            continue
        suite = _read_run(iteration["suite"])
        rank = (
            score(_read_run(iteration["run"])),
            -len(judge_regression(baseline, suite).refusals),
            score(suite),
        )
        if rank >= highest:
            best, highest = iteration, rank
    return best


def _read_run(data: Mapping[str, Any]) -> TestRun:
    return TestRun.from_data(data) if data else TestRun()


def best_snapshot(iterations: Sequence[Iteration], before: Mapping[str, Any]) -> str:
    """Return the snapshot of the best attempt, empty if there is none."""
    best = best_iteration(iterations, before)
    return best["snapshot"] if best else ""


def feedback_for_next(
    iterations: Sequence[Iteration], before: Mapping[str, Any]
) -> str:
    """Return the feedback for the next attempt: on the files it starts from, and on the
    last answer.
    """
    if not iterations:
        return ""
    last = iterations[-1]
    best = best_iteration(iterations, before)
    if best is None or best is last:
        return last["feedback"]
    remark = (
        "The files are those of an earlier attempt, which went better than the last"
        " one. What failed with them:"
    )
    return (
        f"{remark}\n\n{best['feedback']}\n\nWhat was wrong with the last"
        f" answer:\n\n{last['feedback']}"
    )


def find_provable(scaffold: Scaffold, blueprint: Blueprint) -> list[str]:
    """Return the declared files whose change some test should notice: all but prose
    that no test names.
    """
    found = list(blueprint.provable)
    for path in blueprint.prose:
        name = PurePosixPath(path).name
        if any(name in text for text in scaffold["tests"].values()):
            found.append(path)
    return found


def find_vacuous(
    green: Mapping[str, Any],
    reverted: Mapping[str, TestRun],
    scaffold: Scaffold,
    kept: Kept,
) -> tuple[list[str], list[str]]:
    """Return the declared files whose change no test notices, and the tests that notice
    no change.
    """
    may_pass = _may_pass(scaffold, kept)
    refusals, vacuous = judge_reverted(TestRun.from_data(green), reverted, may_pass)
    tests = [f"{name}: passes whichever file is put back" for name in vacuous]
    return list(map(str, refusals)), tests


def _may_pass(scaffold: Scaffold, kept: Kept) -> list[str]:
    """Return the tests that may pass without the code: those of what must not change,
    and existing tests that only got more cases.
    """
    names = list(scaffold.get("earlier", ()))
    for name in scaffold["names"]:
        scenario = plain_id(scenario_of(name))
        if scenario in kept.scenarios:
            names.append(name)
    return names


def say_deviations(
    extras: Mapping[str, str],
    touched: Collection[str],
    existed: Collection[str],
    blueprint: Blueprint,
) -> list[str]:
    """Describe where the finished item differs from its design; `existed` are the
    declared files that were there before.
    """
    lines = [
        f"{path}: changed though not declared; the reason given: {reason}"
        for path, reason in extras.items()
    ]
    for path in blueprint.sources:
        change = blueprint.declared[path]
        if path not in touched:
            lines.append(f"{path}: declared and not changed")
        elif change is Change.MODIFY and path not in existed:
            lines.append(
                f"{path}: declared as a change of a file, but there was none; it was"
                " added"
            )
        elif change is Change.ADD and path in existed:
            lines.append(f"{path}: declared as new, but it was there; it was changed")
    return lines
