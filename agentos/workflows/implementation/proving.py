"""What runs of tests prove about one item, in words for the next attempt and for people. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agentos.inspection import scenario_of
from agentos.inspection.skeletons import module_name
from agentos.proofs.feedback import write_feedback
from agentos.proofs.judging import best_run, judge_coverage, judge_green, judge_red, judge_regression, judge_reverted
from agentos.proofs.runs import RED, TestRun
from agentos.workflows.implementation.blueprint import Blueprint, Change
from agentos.workflows.implementation.state import Iteration

REFUSED = "Nothing of the last answer was written, because of this:"


def refuse_red(run: TestRun, names: Sequence[str], blueprint: Blueprint) -> list[str]:
    """Return why the tests are not proven to fail for the behaviour that is to be built."""
    planned = [module_name(path) for path in blueprint.python_sources]
    return [str(refusal) for refusal in judge_red(run, names, planned, _standing(names, blueprint))]


def as_state(run: TestRun) -> dict[str, Any]:
    """Return a run as the checkpoint keeps it: plain JSON values only."""
    data: dict[str, Any] = json.loads(json.dumps(run.as_data()))
    return data


def refuse_green(run: TestRun, names: Sequence[str]) -> list[str]:
    """Return why the tests are not all green."""
    return [str(refusal) for refusal in judge_green(run, names, (), 0)]


def refuse_coverage(suite: TestRun, blueprint: Blueprint, target: float) -> list[str]:
    """Return which lines of the declared files no test reaches, when they are too many."""
    if not suite.is_valid:
        return []
    return [str(refusal) for refusal in judge_coverage(suite.coverage, blueprint.python_sources, target)]


def refuse_regression(suite: TestRun, before: Mapping[str, Any]) -> list[str]:
    """Return what the change broke; without a run from before, nothing has failed that could have failed then."""
    earlier = TestRun.from_data(before) if before else TestRun()
    if not before and suite.is_valid:
        return []
    return [str(refusal) for refusal in judge_regression(earlier, suite).refusals]


def has_failures(run: TestRun) -> bool:
    """Tell whether something in a run is red, or the run itself is no proof."""
    return not run.is_valid or bool(run.collection_errors) or any(test.outcome in RED for test in run.tests)


def test_feedback(run: TestRun, refusals: Sequence[str]) -> str:
    """Say what a run showed: the reasons first, then the failures."""
    said = "\n".join(f"- {refusal}" for refusal in refusals)
    return f"{said}\n\n{write_feedback(run)}" if refusals else ""


def refusal_feedback(problems: Sequence[str]) -> str:
    """Say why an answer was not even written."""
    return "\n".join([REFUSED, *(f"- {problem}" for problem in problems)]) if problems else ""


def best_iteration(iterations: Sequence[Iteration]) -> Iteration | None:
    """Return the attempt whose tests went best, the later one of equals; None when none came to its tests."""
    tested = [iteration for iteration in iterations if iteration["run"]]
    if not tested:
        return None
    return tested[best_run([TestRun.from_data(iteration["run"]) for iteration in tested])]


def best_snapshot(iterations: Sequence[Iteration]) -> str:
    """Return where the best attempt is kept, empty when there is none."""
    best = best_iteration(iterations)
    return best["snapshot"] if best else ""


def feedback_for_next(iterations: Sequence[Iteration]) -> str:
    """Return what the next attempt has to know: about the state it starts from, and about the last answer."""
    if not iterations:
        return ""
    last, best = iterations[-1], best_iteration(iterations)
    if best is None or best is last:
        return last["feedback"]
    remark = "The files are those of an earlier attempt, which went better than the last one. What failed with them:"
    return f"{remark}\n\n{best['feedback']}\n\nWhat was wrong with the last answer:\n\n{last['feedback']}"


def find_vacuous(
    green: Mapping[str, Any], reverted: Mapping[str, TestRun], names: Sequence[str], blueprint: Blueprint
) -> tuple[list[str], list[str]]:
    """Return the declared files whose change no test notices, and the tests that notice no change."""
    refusals, vacuous = judge_reverted(TestRun.from_data(green), reverted, _standing(names, blueprint))
    return [str(refusal) for refusal in refusals], [f"{name}: passes whichever file is put back" for name in vacuous]


def _standing(names: Sequence[str], blueprint: Blueprint) -> list[str]:
    return [name for name in names if scenario_of(name) in blueprint.standing]


def say_deviations(
    extras: Mapping[str, str], touched: Collection[str], existed: Collection[str], blueprint: Blueprint
) -> list[str]:
    """Say where the finished item differs from its design; `existed` are the declared files that were there before."""
    lines = [f"{path}: changed though not declared; the reason given: {reason}" for path, reason in extras.items()]
    for path in blueprint.sources:
        change = blueprint.declared[path]
        if path not in touched:
            lines.append(f"{path}: declared and not changed")
        elif change is Change.MODIFY and path not in existed:
            lines.append(f"{path}: declared as a change of a file, but there was none; it was added")
        elif change is Change.ADD and path in existed:
            lines.append(f"{path}: declared as new, but it was there; it was changed")
    return lines
