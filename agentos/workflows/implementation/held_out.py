"""Hold some of an item's tests out: whoever writes the code in turns never sees them.

One scenario in five is held out, the same ones in every run. Their tests are proven red
with all others; then they are taken out of the test files that the coder has, and put
back when its work is judged. So code that only knows the values of the tests it saw is
found by those that it did not see.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace

from agentos.documents.judged_text import without_log
from agentos.documents.lld import parse_lld
from agentos.documents.verdict import Verdict
from agentos.documents.verdict.model import Decision
from agentos.gateway.providers import Completion, Message
from agentos.item import Failure, State
from agentos.proving.causes import failures_of
from agentos.proving.feedback import write_feedback
from agentos.proving.inspection import plain_id, scenario_of
from agentos.proving.inspection.collection import collect_tests
from agentos.proving.inspection.parsing import parse_python
from agentos.proving.runners.runs import TestResult, TestRun
from agentos.settings import LOOP
from agentos.state.wording import count
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import proving, rendering
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.context import (
    HELD,
    BuildContext,
    bill,
    question_to,
    report_looks,
)
from agentos.workflows.implementation.state import (
    ImplementationState,
    Iteration,
    Scaffold,
)
from agentos.workflows.looking import describe_looking
from agentos.workflows.verdicts import ask_for_verdict

ONE_IN = 5
_TELL = """\
All tests that you have pass. Tests that you do not have fail, and the reviewer says that
they are right. They are about these scenarios of the design:

{scenarios}

Look at what your code does there. You are told this once."""
_HELD = (
    "Nobody contests these tests: they were kept from whoever wrote the code, and they"
    " fail with it. Either a test is wrong, or the code is."
)
_STILL = "tests that the coder does not see still fail, about the scenarios {}"


def held_scenarios(state: ImplementationState, blueprint: Blueprint) -> frozenset[str]:
    """Return the scenarios whose tests the coder does not see."""
    if state.get("writer") != LOOP:
        return frozenset()
    return choose(state["item"], blueprint.scenarios)


def choose(item: str, scenarios: Sequence[str]) -> frozenset[str]:
    """Return one in five scenarios, by a hash, so that every run takes the same ones."""

    def rank(scenario: str) -> str:
        return hashlib.sha256(f"{item}:{scenario}".encode()).hexdigest()

    number = len(scenarios) // ONE_IN
    return frozenset(sorted(scenarios, key=rank)[:number])


def held_names(state: ImplementationState, blueprint: Blueprint) -> frozenset[str]:
    """Return the ids of the item's tests that the coder does not see."""
    held = held_scenarios(state, blueprint)
    names = state["scaffolds"][-1]["names"]
    return frozenset(name for name in names if plain_id(scenario_of(name)) in held)


def visible_tests(state: ImplementationState, blueprint: Blueprint) -> dict[str, str]:
    """Return the item's test files as the coder has them."""
    held = held_names(state, blueprint)
    tests = state["scaffolds"][-1]["tests"]
    return {path: without_tests(path, text, held) for path, text in tests.items()}


def without_tests(path: str, text: str, names: Collection[str]) -> str:
    """Return the text of a test file without some of its tests."""
    own = {name.partition("::")[2] for name in names if name.startswith(f"{path}::")}
    if not own:
        return text
    module = parse_python(text)
    if not isinstance(module, ast.Module):
        return text
    rows = text.splitlines(keepends=True)
    for test in reversed(collect_tests(module)):
        if test.name not in own:
            continue
        node = test.node
        first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
        indent = " " * node.col_offset
        # A class may have no other test, and its body must not be empty.
        rest = [f"{indent}pass\n"] if node.col_offset else []
        rows[first - 1 : node.end_lineno] = rest
    return "".join(rows)


def split(run: TestRun, names: Collection[str]) -> tuple[TestRun, TestRun]:
    """Return a run of the tests that the coder sees, and one of those that it does not."""
    seen = [test for test in run.tests if test.base not in names]
    unseen = [test for test in run.tests if test.base in names]
    return replace(run, tests=tuple(seen)), replace(run, tests=tuple(unseen))


async def rule(state: ImplementationState, context: BuildContext) -> Update:
    """Ask the reviewer whether held-out tests that fail are right: a wrong test is
    dropped; of a right one the coder is told the scenario, once.
    """
    *earlier, current = state["iterations"]
    held = held_names(state, context.blueprint)
    run = TestRun.from_data(current["run"])
    _, unseen = split(run, held)
    failing = sorted({failure.base for failure in _failed_tests(unseen)})
    if state.get("held_told"):
        return _end(state, failing)
    verdict, update = await _ask(state, context, unseen)
    context.observe("noted", f"held-out tests: {verdict.summary}")
    if verdict.decision is Decision.DISCUSS:
        return {
            **update,
            "decision": str(State.NEEDS_DISCUSSION),
            "message": verdict.summary,
            "questions": list(verdict.questions) or [verdict.summary],
        }
    wrong = {}
    if verdict.decision is Decision.REVISE:
        for name in failing:
            for finding in verdict.findings:
                if name.rpartition("::")[2] in finding.section:
                    wrong[name] = finding.text
    if wrong:
        update |= await _drop(state, context, wrong)
        current = update["iterations"][-1]
    right = [name for name in failing if name not in wrong]
    if not right:
        return {**update, "held_failing": False}
    text = _TELL.format(scenarios=_show_scenarios(state, right))
    reason = f"{count(len(right), 'test')} that the coder does not see"
    told = Iteration(**{**current, "refusals": [f"fails {reason}"], "feedback": text})
    update["iterations"] = [*earlier, told]
    return {**update, "held_failing": False, "held_told": True}


async def _ask(
    state: ImplementationState, context: BuildContext, unseen: TestRun
) -> tuple[Verdict, Update]:
    workspace = context.workspace
    current = state["iterations"][-1]
    snapshot = current["snapshot"]
    await workspace.restore(snapshot)
    looker = context.looker(snapshot)
    scaffold = state["scaffolds"][-1]
    inputs = {
        "item": state["item"],
        "design": without_log(state["source"]),
        "looking": describe_looking("reviewer", looker),
        "tests": rendering.show_new_tests(workspace, scaffold["tests"]),
        "code": workspace.diff(state["snapshot"], snapshot),
        "contested": f"{_HELD}\n\n{write_feedback(unseen)}",
    }
    asked = state.get("held_rulings", 0) + 1

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        turn = question_to(
            context,
            "contest",
            HELD,
            asked,
            inputs,
            attempt=attempt,
            schema="look_or_verdict",
        )
        return turn(said)

    judgment = await ask_for_verdict(ask, looker)
    report_looks(context, "reviewer", judgment.looked)
    update: Update = {"held_rulings": asked, **bill(state, *judgment.answers)}
    return judgment.verdict, update


async def _drop(
    state: ImplementationState, context: BuildContext, wrong: Mapping[str, str]
) -> Update:
    """Take wrong tests out of the item, and report them."""
    *earlier, current = state["iterations"]
    *before, scaffold = state["scaffolds"]
    workspace = context.workspace
    tests = {}
    for path, text in scaffold["tests"].items():
        tests[path] = without_tests(path, text, wrong)
    names = [name for name in scaffold["names"] if name not in wrong]
    await workspace.restore(current["snapshot"])
    workspace.write(tests)
    snapshot = workspace.snapshot("tests")
    kept, _ = split(TestRun.from_data(current["run"]), wrong)
    left = Scaffold(**{**scaffold, "tests": tests, "names": names})
    proven = Iteration(
        **{**current, "snapshot": snapshot, "run": proving.as_state(kept)}
    )
    lines = [f"{name}: {reason}" for name, reason in wrong.items()]
    for line in lines:
        context.observe("warned", f"a held-out test is wrong and is dropped: {line}")
    return {
        "scaffolds": [*before, left],
        "iterations": [*earlier, proven],
        "held_dropped": [*state.get("held_dropped", ()), *lines],
    }


def _end(state: ImplementationState, failing: Sequence[str]) -> Update:
    scenarios = sorted({plain_id(scenario_of(name)) for name in failing})
    cause = _STILL.format(", ".join(scenarios))
    *earlier, current = state["iterations"]
    refused = Iteration(**{**current, "refusals": [cause]})
    return {
        "iterations": [*earlier, refused],
        "held_failing": False,
        "decision": str(Failure.NOT_GREEN),
        "message": f"not green: {cause}",
        "findings": [cause],
    }


def _failed_tests(run: TestRun) -> list[TestResult]:
    return [failure for failure in failures_of(run) if isinstance(failure, TestResult)]


def _show_scenarios(state: ImplementationState, names: Sequence[str]) -> str:
    """Return the rows of the design about some tests."""
    wanted = {plain_id(scenario_of(name)) for name in names}
    rows = [
        f"- {scenario.id}: {scenario.name}; input: {scenario.input};"
        f" expected: {scenario.expected}"
        for scenario in parse_lld(state["source"]).scenarios
        if plain_id(scenario.id) in wanted
    ]
    return "\n".join(rows)
