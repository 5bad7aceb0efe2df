"""Have the tests written from the design, and prove them red."""

from __future__ import annotations

from agentos.documents.changes import contract
from agentos.documents.judged_text import without_log
from agentos.item import Failure
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import accepting, proving, rendering
from agentos.workflows.implementation.context import (
    TESTS,
    BuildContext,
    ask_model,
    bill,
    say_refused,
    write,
)
from agentos.workflows.implementation.state import ImplementationState, Scaffold

SCAFFOLD_ATTEMPTS = 3


async def scaffold(state: ImplementationState, context: BuildContext) -> Update:
    """Have the tests written, and refuse those that prove nothing without running
    them.
    """
    await context.workspace.restore(state["base"])
    attempts = state["scaffolds"]
    problems = previous_tests = ""
    if attempts:
        last = attempts[-1]
        problems = "\n".join(f"- {problem}" for problem in last["problems"])
        previous_tests = rendering.show_texts(last["tests"])
    inputs = {
        "item": state["item"],
        "design": without_log(state["source"]),
        "material": state["material"],
        "files": rendering.show_files(context.workspace, context.blueprint.declared),
        "test_files": "\n".join(context.blueprint.tests),
        "answering": contract.answering(contract.TESTS),
        "problems": problems,
        "previous_tests": previous_tests,
    }
    answer = await ask_model(context, "tests", TESTS, len(attempts) + 1, inputs)
    accepted = accepting.accept_tests(answer.text, context.blueprint, context.workspace)
    attempt = Scaffold(
        answer=answer.text,
        author=answer.model,
        tests=accepted.files,
        names=accepted.names,
        earlier=accepted.existing,
        problems=accepted.refusals,
    )
    if not accepted.refusals:
        attempt["problems"] = write(context, accepted)
    update: Update = {"scaffolds": [*attempts, attempt], **bill(state, answer)}
    if attempt["problems"]:
        return {**update, **_red_ending(context, update["scaffolds"])}
    return {**update, "snapshot": context.workspace.snapshot("tests")}


async def prove_red(state: ImplementationState, context: BuildContext) -> Update:
    """Run the tests without the code: each must fail because of the missing behavior."""
    workspace = context.workspace
    blueprint = context.blueprint
    attempts = state["scaffolds"]
    current = attempts[-1]
    await workspace.restore(state["snapshot"])
    stand_ins = accepting.skeletons_for(blueprint, workspace)
    workspace.write(stand_ins)
    run = await workspace.test(accepting.selection(current))
    run = proving.own_tests(run, current)
    await workspace.restore(state["snapshot"], worthless=stand_ins)
    problems = proving.refuse_red(run, current, blueprint, workspace)
    judged = Scaffold(**{**current, "problems": problems})
    update: Update = {
        "scaffolds": [*attempts[:-1], judged],
        "red": proving.as_state(run),
        "bare": {} if stand_ins else proving.as_state(run),
    }
    if problems:
        return {**update, **_red_ending(context, update["scaffolds"])}
    return update


def _red_ending(context: BuildContext, attempts: list[Scaffold]) -> Update:
    say_refused(context, f"tests, attempt {len(attempts)}", attempts[-1]["problems"])
    if len(attempts) < SCAFFOLD_ATTEMPTS:
        return {}
    first = attempts[-1]["problems"][0]
    message = f"no usable tests in {len(attempts)} attempts: {first}"
    return {
        "decision": str(Failure.RED_INVALID),
        "message": message,
        "findings": attempts[-1]["problems"],
    }
