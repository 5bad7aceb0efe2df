"""What runs of tests prove about one item, in words for the next attempt and for people. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from agentos.errors import BadInput
from agentos.inspection import plain_id, scenario_of
from agentos.proofs.causes import name_cause
from agentos.proofs.feedback import write_feedback
from agentos.proofs.judging import judge_coverage, judge_green, judge_red, judge_regression, judge_reverted, score
from agentos.proofs.runs import FileCoverage, TestRun
from agentos.workflows.implementation.blueprint import Blueprint, Change
from agentos.workflows.implementation.earlier import without_earlier
from agentos.workflows.implementation.importing import planned_modules
from agentos.workflows.implementation.showing import Reader
from agentos.workflows.implementation.state import Iteration, Scaffold

REFUSED = "Nothing of the last answer was written, because of this:"


def own_tests(run: TestRun, scaffold: Scaffold) -> TestRun:
    """Return a run of the item's test files with what is the item's own in them."""
    return without_earlier(run, scaffold["names"], scaffold.get("earlier", ()))


def refuse_red(run: TestRun, scaffold: Scaffold, blueprint: Blueprint, reader: Reader) -> list[str]:
    """Return why the tests are not proven to fail for the behaviour that is to be built."""
    planned = planned_modules(blueprint, reader)
    return [str(refusal) for refusal in judge_red(run, scaffold["names"], planned, _standing(scaffold, blueprint))]


def check_base(suite: TestRun) -> None:
    """Raise `BadInput` when the suite cannot be run without the item either: no code and no tests would mend that."""
    if not suite.is_valid:
        raise BadInput(
            f"the repository's own suite cannot be run before anything is built: {_ends_of(suite.problem)}; "
            "mend it, or give it more time with --test-timeout"
        )
    if suite.collection_errors and not suite.tests:
        cause = name_cause(suite.collection_errors[0])
        raise BadInput(f"none of the repository's own tests can be read: {cause}; declare what it needs for its tests")


def _ends_of(text: str) -> str:
    """Return the first and the last line of what may be a whole traceback."""
    lines = text.strip().splitlines()
    return f"{lines[0]}: {lines[-1].strip()}" if len(lines) > 1 else text


def as_state(run: TestRun) -> dict[str, Any]:
    """Return a run as the checkpoint keeps it: plain JSON values only."""
    data: dict[str, Any] = json.loads(json.dumps(run.as_data()))
    return data


def refuse_green(run: TestRun, names: Sequence[str]) -> list[str]:
    """Return why the tests are not all green."""
    return [str(refusal) for refusal in judge_green(run, names, (), 0)]


def refuse_coverage(suite: TestRun, measured: Sequence[str], reader: Reader, target: float) -> list[str]:
    """Return which lines of the measured files no test reaches, when they are too many.

    What no test reached before the item either is not held against it.
    """
    if not suite.is_valid:
        return []
    coverage = {path: _of_the_item(path, file, reader) for path, file in suite.coverage.items()}
    return [str(refusal) for refusal in judge_coverage(coverage, measured, target)]


def _of_the_item(path: str, file: FileCoverage, reader: Reader) -> FileCoverage:
    """Take the lines out of those that are missing which the item found there and left as they were."""
    base = reader.read_base(path)
    if base is None or not file.missing:
        return file
    lines = SequenceMatcher(None, base.splitlines(), (reader.read(path) or "").splitlines())
    kept = {block.b + offset + 1 for block in lines.get_matching_blocks() for offset in range(block.size)}
    return replace(file, missing=tuple(line for line in file.missing if line not in kept))


def refuse_regression(suite: TestRun, before: Mapping[str, Any], blueprint: Blueprint) -> list[str]:
    """Return what the change broke, made vanish or had skipped."""
    regression = judge_regression(TestRun.from_data(before), suite, blueprint.removed_tests)
    return [str(refusal) for refusal in regression.refusals]


def test_feedback(run: TestRun, refusals: Sequence[str]) -> str:
    """Say what a run showed: the reasons first, then the failures."""
    said = "\n".join(f"- {refusal}" for refusal in refusals)
    return f"{said}\n\n{write_feedback(run)}" if refusals else ""


def refusal_feedback(problems: Sequence[str]) -> str:
    """Say why an answer was not even written."""
    return "\n".join([REFUSED, *(f"- {problem}" for problem in problems)]) if problems else ""


def best_iteration(iterations: Sequence[Iteration], before: Mapping[str, Any]) -> Iteration | None:
    """Return the attempt that went best, the later one of equals; None when none came to its tests.

    Its own tests come first, then what it broke of the whole suite, then how much of its code was run.
    """
    tested = [iteration for iteration in iterations if iteration["run"]]
    if not tested:
        return None
    earlier = TestRun.from_data(before) if before else TestRun()

    def merit(place: int) -> tuple[tuple[bool, int, int, float], int, tuple[bool, int, int, float], int]:
        own = score(TestRun.from_data(tested[place]["run"]))
        suite = TestRun.from_data(tested[place]["suite"]) if tested[place]["suite"] else TestRun()
        return own, -len(judge_regression(earlier, suite).refusals), score(suite), place

    return tested[max(range(len(tested)), key=merit)]


def best_snapshot(iterations: Sequence[Iteration], before: Mapping[str, Any]) -> str:
    """Return where the best attempt is kept, empty when there is none."""
    best = best_iteration(iterations, before)
    return best["snapshot"] if best else ""


def feedback_for_next(iterations: Sequence[Iteration], before: Mapping[str, Any]) -> str:
    """Return what the next attempt has to know: about the state it starts from, and about the last answer."""
    if not iterations:
        return ""
    last, best = iterations[-1], best_iteration(iterations, before)
    if best is None or best is last:
        return last["feedback"]
    remark = "The files are those of an earlier attempt, which went better than the last one. What failed with them:"
    return f"{remark}\n\n{best['feedback']}\n\nWhat was wrong with the last answer:\n\n{last['feedback']}"


def find_vacuous(
    green: Mapping[str, Any], reverted: Mapping[str, TestRun], scaffold: Scaffold, blueprint: Blueprint
) -> tuple[list[str], list[str]]:
    """Return the declared files whose change no test notices, and the tests that notice no change."""
    refusals, vacuous = judge_reverted(TestRun.from_data(green), reverted, _standing(scaffold, blueprint))
    return [str(refusal) for refusal in refusals], [f"{name}: passes whichever file is put back" for name in vacuous]


def _standing(scaffold: Scaffold, blueprint: Blueprint) -> list[str]:
    """Return the tests that may pass without the code: of what stands already, and those that only got more cases."""
    return [
        *(name for name in scaffold["names"] if plain_id(scenario_of(name)) in blueprint.standing),
        *scaffold.get("earlier", ()),
    ]


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
