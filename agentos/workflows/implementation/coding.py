"""Have the code written, and prove it green: its own tests, then the whole suite."""

from __future__ import annotations

from agentos.documents.changes import contract
from agentos.documents.judged_text import without_log
from agentos.item import Failure
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import (
    accepting,
    proving,
    rendering,
    without_code,
)
from agentos.workflows.implementation.context import (
    CODE,
    BuildContext,
    ask_model,
    bill,
    run_tests_at,
    say_refused,
    write,
)
from agentos.workflows.implementation.state import ImplementationState, Iteration


async def implement(state: ImplementationState, context: BuildContext) -> Update:
    """Have the code written on top of the best attempt so far, and write the accepted
    changes to the worktree.
    """
    workspace = context.workspace
    blueprint = context.blueprint
    iterations = state["iterations"]
    start = proving.best_snapshot(iterations, state["before"]) or state["snapshot"]
    await workspace.restore(start)
    tests = state["scaffolds"][-1]["tests"]
    inputs = {
        "item": state["item"],
        "design": without_log(state["source"]),
        "material": state["material"],
        "declared": rendering.list_declared(blueprint),
        "files": rendering.show_files(workspace, blueprint.sources),
        "tests": rendering.show_texts(tests),
        "answering": contract.answering(contract.CODE),
        "feedback": proving.feedback_for_next(iterations, state["before"]),
    }
    asking = ask_model(context, "code", CODE, len(iterations) + 1, inputs)
    run_without_code = state.get("bare", {})
    if without_code.is_wanted(state, blueprint):
        answer, run_without_code = await without_code.run_beside(
            asking, workspace, state["scaffolds"][-1], start
        )
    else:
        answer = await asking
    accepted = accepting.accept_code(
        answer.text, blueprint, workspace, protected=tuple(tests)
    )
    problems = accepted.refusals or write(context, accepted)
    snapshot = (
        "" if problems else workspace.snapshot(f"iteration-{len(iterations) + 1}")
    )
    attempt = Iteration(
        answer=answer.text,
        author=answer.model,
        snapshot=snapshot,
        refusals=problems,
        extras=accepted.extras,
        run={},
        suite={},
        feedback=proving.refusal_feedback(problems),
    )
    return {
        "iterations": [*iterations, attempt],
        "bare": run_without_code,
        **bill(state, answer),
        **_end_if_refused(state, context, attempt),
    }


async def prove_green(state: ImplementationState, context: BuildContext) -> Update:
    """Run the item's tests with the code."""
    *earlier, current = state["iterations"]
    scaffold = state["scaffolds"][-1]
    selection = accepting.selection(scaffold)
    run = await run_tests_at(context, current["snapshot"], selection)
    run = proving.own_tests(run, scaffold)
    refusals = proving.refuse_green(run, scaffold["names"])
    judged = Iteration(
        **{
            **current,
            "run": proving.as_state(run),
            "refusals": refusals,
            "feedback": proving.test_feedback(run, refusals),
        }
    )
    return {
        "iterations": [*earlier, judged],
        **_end_if_refused(state, context, judged),
    }


async def prove_no_regression(
    state: ImplementationState, context: BuildContext
) -> Update:
    """Run the repository's whole suite and measure the coverage of the declared and
    touched modules.

    Tests that failed before the change do not count against it.
    """
    *earlier, current = state["iterations"]
    touched = context.workspace.changed_files(state["base"], current["snapshot"])
    measured = context.blueprint.measured(touched)
    suite = await run_tests_at(context, current["snapshot"], (), measured)
    before = state["before"] or proving.as_state(await context.workspace.test_base())
    refusals = proving.refuse_regression(suite, before, context.blueprint)
    refusals += proving.refuse_coverage(
        suite, measured, context.workspace, context.config.coverage_target
    )
    judged = Iteration(
        **{
            **current,
            "suite": proving.as_state(suite),
            "refusals": refusals,
            "feedback": proving.test_feedback(suite, refusals),
        }
    )
    return {
        "iterations": [*earlier, judged],
        "before": before,
        **_end_if_refused(state, context, judged),
    }


def _end_if_refused(
    state: ImplementationState, context: BuildContext, attempt: Iteration
) -> Update:
    """Report why an attempt was refused, and end the item after the last one."""
    if not attempt["refusals"]:
        return {}
    number = len(state["iterations"])
    if not attempt["run"]:
        # It was refused before its tests ran, so the state does not hold it yet.
        number += 1
    say_refused(context, f"iteration {number}", attempt["refusals"])
    if number < context.config.max_iterations:
        return {}
    message = (
        f"not green after {number} iterations: {attempt['refusals'][0]}; "
        f"what was kept of it: agentos salvage {state['item']}"
    )
    return {
        "decision": str(Failure.NOT_GREEN),
        "message": message,
        "findings": attempt["refusals"],
    }
