"""Hold some of an item's tests out: whoever writes the code in turns never sees them.

One scenario in five is held out, the same ones in every run. Their tests are proven red
with all others; then they are taken out of the test files that the coder has, and put
back when its work is judged. So code that only knows the values of the tests it saw is
found by those that it did not see.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
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
from agentos.proving.runners.runs import CollectionError, TestRun
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
)
from agentos.workflows.looking import describe_looking
from agentos.workflows.verdicts import ask_for_verdict

ONE_IN = 5
Definition = ast.FunctionDef | ast.AsyncFunctionDef
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
    ranks = {}
    for scenario in scenarios:
        name = f"{item}:{scenario}"
        digest = hashlib.sha256(name.encode())
        ranks[scenario] = digest.digest()
    ranked = sorted(scenarios, key=ranks.__getitem__)
    number = len(scenarios) // ONE_IN
    return frozenset(ranked[:number])


def held_names(state: ImplementationState, blueprint: Blueprint) -> frozenset[str]:
    """Return the ids of the item's tests that the coder does not see."""
    held = held_scenarios(state, blueprint)
    scaffold = state["scaffolds"][-1]
    names = set()
    for name in scaffold["names"]:
        if _scenario(name) in held:
            names.add(name)
    return frozenset(names)


def visible_tests(state: ImplementationState, blueprint: Blueprint) -> dict[str, str]:
    """Return the item's test files as the coder has them."""
    held = held_names(state, blueprint)
    scaffold = state["scaffolds"][-1]
    visible = {}
    for path, text in scaffold["tests"].items():
        visible[path] = without_tests(path, text, held)
    return visible


def without_tests(path: str, text: str, names: Collection[str]) -> str:
    """Return the text of a test file without some of its tests."""
    module = parse_python(text)
    if not isinstance(module, ast.Module):
        return text
    nodes = []
    for test in collect_tests(module):
        id = f"{path}::{test.name}"
        if id in names:
            nodes.append(test.node)
    left = _cut(text, nodes, "")
    if isinstance(parse_python(left), ast.Module):
        return left
    # A class has no other test, and its body must not be empty.
    return _cut(text, nodes, "pass\n")


def _cut(text: str, nodes: Sequence[Definition], filler: str) -> str:
    """Return a text without some definitions."""
    rows = text.splitlines(keepends=True)
    for node in reversed(nodes):
        first = node.lineno
        for mark in node.decorator_list:
            first = min(first, mark.lineno)
        left = []
        if filler:
            indent = " " * node.col_offset
            left.append(f"{indent}{filler}")
        rows[first - 1 : node.end_lineno] = left
    return "".join(rows)


def split(run: TestRun, names: Collection[str]) -> tuple[TestRun, TestRun]:
    """Return a run of the tests that the coder sees, and one of those that it does not."""
    seen = []
    unseen = []
    for test in run.tests:
        if test.base in names:
            unseen.append(test)
        else:
            seen.append(test)
    run_of_seen = replace(run, tests=tuple(seen))
    run_of_unseen = replace(run, tests=tuple(unseen))
    return run_of_seen, run_of_unseen


def _scenario(name: str) -> str:
    return plain_id(scenario_of(name))


async def rule(state: ImplementationState, context: BuildContext) -> Update:
    """Ask the reviewer whether held-out tests that fail are right: a wrong test is
    dropped; of a right one the coder is told the scenario, once.
    """
    current = state["iterations"][-1]
    held = held_names(state, context.blueprint)
    _, unseen = split(TestRun.from_data(current["run"]), held)
    failing = _failing(unseen)
    if state.get("held_told"):
        return _end(state, failing)
    verdict, update = await _ask(state, context, unseen)
    context.observe("noted", f"held-out tests: {verdict.summary}")
    if verdict.decision is Decision.DISCUSS:
        questions = list(verdict.questions)
        if not questions:
            questions.append(verdict.summary)
        return {
            **update,
            "decision": str(State.NEEDS_DISCUSSION),
            "message": verdict.summary,
            "questions": questions,
        }
    wrong = _find_wrong(failing, verdict)
    if wrong:
        update |= await _drop(state, context, wrong)
    update["held_failing"] = False
    right = [name for name in failing if name not in wrong]
    if not right:
        return update
    iterations: list[Iteration] = update.get("iterations", state["iterations"])
    *earlier, current = iterations
    number = len(right)
    tests = count(number, "test")
    told = current.copy()
    told["refusals"] = [f"fails {tests} that the coder does not see"]
    told["feedback"] = _TELL.format(scenarios=_show_scenarios(state, right))
    update["iterations"] = [*earlier, told]
    update["held_told"] = True
    return update


def _failing(run: TestRun) -> list[str]:
    """Return the tests that fail, without their parameters."""
    names = set()
    for failure in failures_of(run):
        if isinstance(failure, CollectionError):
            continue
        names.add(failure.base)
    return sorted(names)


def _find_wrong(failing: Sequence[str], verdict: Verdict) -> dict[str, str]:
    """Return the tests that a ruling says are wrong, each with the reason."""
    wrong: dict[str, str] = {}
    if verdict.decision is not Decision.REVISE:
        return wrong
    for name in failing:
        _, _, test = name.rpartition("::")
        for finding in verdict.findings:
            if test in finding.section:
                wrong[name] = finding.text
    return wrong


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
    left = scaffold.copy()
    left["names"] = [name for name in scaffold["names"] if name not in wrong]
    left["tests"] = {}
    for path, text in scaffold["tests"].items():
        left["tests"][path] = without_tests(path, text, wrong)
    await workspace.restore(current["snapshot"])
    workspace.write(left["tests"])
    kept, _ = split(TestRun.from_data(current["run"]), wrong)
    proven = current.copy()
    proven["snapshot"] = workspace.snapshot("tests")
    proven["run"] = proving.as_state(kept)
    lines = []
    for name, reason in wrong.items():
        line = f"{name}: {reason}"
        context.observe("warned", f"a held-out test is wrong and is dropped: {line}")
        lines.append(line)
    return {
        "scaffolds": [*before, left],
        "iterations": [*earlier, proven],
        "held_dropped": [*state.get("held_dropped", ()), *lines],
    }


def _end(state: ImplementationState, failing: Sequence[str]) -> Update:
    scenarios = set(map(_scenario, failing))
    ordered = sorted(scenarios)
    listed = ", ".join(ordered)
    cause = _STILL.format(listed)
    *earlier, current = state["iterations"]
    refused = current.copy()
    refused["refusals"] = [cause]
    return {
        "iterations": [*earlier, refused],
        "held_failing": False,
        "decision": str(Failure.NOT_GREEN),
        "message": f"not green: {cause}",
        "findings": [cause],
    }


def _show_scenarios(state: ImplementationState, names: Iterable[str]) -> str:
    """Return the rows of the design about some tests."""
    wanted = set(map(_scenario, names))
    rows = []
    for scenario in parse_lld(state["source"]).scenarios:
        if plain_id(scenario.id) not in wanted:
            continue
        row = f"- {scenario.id}: {scenario.name}; input: {scenario.input}"
        row += f"; expected: {scenario.expected}"
        rows.append(row)
    return "\n".join(rows)
