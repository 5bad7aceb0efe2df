"""Judge the test runs of one item and word the result for the next attempt (pure)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from agentos.errors import BadInput
from agentos.proving.causes import describe_cause
from agentos.proving.feedback import write_feedback
from agentos.proving.inspection import plain_id, scenario_of
from agentos.proving.judging import (
    judge_coverage,
    judge_green,
    judge_red,
    judge_regression,
    judge_reverted,
    score,
)
from agentos.proving.runners.runs import FileCoverage, TestRun
from agentos.workflows.implementation.blueprint import Blueprint, Change
from agentos.workflows.implementation.existing_tests import without_existing
from agentos.workflows.implementation.importing import planned_modules
from agentos.workflows.implementation.rendering import Reader
from agentos.workflows.implementation.state import Iteration, Scaffold

REFUSED = "Nothing of the last answer was written, because of this:"


def own_tests(run: TestRun, scaffold: Scaffold) -> TestRun:
    """Return a run of the item's test files with the item's own tests only."""
    return without_existing(run, scaffold["names"], scaffold.get("earlier", ()))


def refuse_red(
    run: TestRun, scaffold: Scaffold, blueprint: Blueprint, reader: Reader
) -> list[str]:
    """Return the reasons why the tests do not fail for the missing behavior."""
    planned = planned_modules(blueprint, reader)
    may_pass = _may_pass(scaffold, blueprint)
    refusals = judge_red(run, scaffold["names"], planned, may_pass)
    return list(map(str, refusals))


def check_base(suite: TestRun) -> None:
    """Raise `BadInput` if the suite cannot run without the item: no generated code could
    repair that.
    """
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


def refuse_coverage(
    suite: TestRun, measured: Sequence[str], reader: Reader, target: float
) -> list[str]:
    """Return the lines of the measured files that no test covers, if there are too
    many.

    Lines that the item did not change do not count.
    """
    if not suite.is_valid:
        return []
    coverage = {}
    for path, file in suite.coverage.items():
        coverage[path] = _without_unchanged_lines(path, file, reader)
    return list(map(str, judge_coverage(coverage, measured, target)))


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


def test_feedback(run: TestRun, refusals: Sequence[str]) -> str:
    """Write the feedback on a run: the reasons first, then the failures."""
    if not refusals:
        return ""
    reasons = "\n".join(f"- {refusal}" for refusal in refusals)
    return f"{reasons}\n\n{write_feedback(run)}"


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


def find_vacuous(
    green: Mapping[str, Any],
    reverted: Mapping[str, TestRun],
    scaffold: Scaffold,
    blueprint: Blueprint,
) -> tuple[list[str], list[str]]:
    """Return the declared files whose change no test notices, and the tests that notice
    no change.
    """
    may_pass = _may_pass(scaffold, blueprint)
    refusals, vacuous = judge_reverted(TestRun.from_data(green), reverted, may_pass)
    tests = [f"{name}: passes whichever file is put back" for name in vacuous]
    return list(map(str, refusals)), tests


def _may_pass(scaffold: Scaffold, blueprint: Blueprint) -> list[str]:
    """Return the tests that may pass without the code: those of existing behavior, and
    existing tests that only got more cases.
    """
    names = [
        name
        for name in scaffold["names"]
        if plain_id(scenario_of(name)) in blueprint.already_passing
    ]
    return [*names, *scaffold.get("earlier", ())]


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
