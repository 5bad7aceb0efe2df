"""The first and the last steps of an implementation: prepare the worktree, find what no
test notices, and commit.

A step that runs generated code first restores the worktree to the snapshot that the
state names, and ends with a new snapshot. So an interrupted step can simply run again.
"""

from __future__ import annotations

from collections.abc import Collection

from agentos.item import State
from agentos.proving.runners.runs import TestRun
from agentos.state.wording import count
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import accepting, proving, rendering
from agentos.workflows.implementation.code_review import open_findings
from agentos.workflows.implementation.coding import finished
from agentos.workflows.implementation.context import BuildContext
from agentos.workflows.implementation.state import ImplementationState, count_attempts

MOST_DOUBTS = 5


async def load(state: ImplementationState, context: BuildContext) -> Update:
    """Prepare the worktree and the environment, and check that the repository's own
    tests can run.
    """
    for doubt in context.blueprint.doubts[:MOST_DOUBTS]:
        context.observe("warned", f"the design, {doubt[:1].lower()}{doubt[1:]}")
    base = await context.workspace.open()
    rendering.check_texts(context.workspace, context.blueprint.declared)
    before = await context.workspace.test_base()
    proving.check_base(before)
    context.observe("noted", proving.say_base(before))
    return {
        "base": base,
        "snapshot": base,
        "before": proving.as_state(before),
        "environment": "; ".join(context.workspace.environment_notes),
        "material": context.workspace.gather(state["source"]),
    }


async def validate(state: ImplementationState, context: BuildContext) -> Update:
    """Revert each declared file in turn, and report changes that no test notices and
    tests that notice no change.
    """
    current = finished(state)
    scaffold = state["scaffolds"][-1]
    workspace = context.workspace
    touched = workspace.changed_files(state["base"], current["snapshot"])
    changed_sources = set(touched).difference(scaffold["tests"])
    run_without_code = state.get("bare")
    reverted = {}
    for path in proving.find_provable(scaffold, context.blueprint):
        if run_without_code and changed_sources == {path}:
            # Reverting the only changed file is the run without code, which is known.
            reverted[path] = TestRun.from_data(run_without_code)
        elif path in touched:
            await workspace.restore(current["snapshot"])
            workspace.revert(path, state["base"])
            run = await workspace.test(accepting.selection(scaffold))
            reverted[path] = proving.own_tests(run, scaffold)
    await workspace.restore(current["snapshot"])
    kept = proving.find_kept(state, context.blueprint)
    unproven, vacuous = proving.find_vacuous(current["run"], reverted, scaffold, kept)
    deviations = proving.say_deviations(
        _touched_extras(state, touched),
        touched,
        _existing_sources(context),
        context.blueprint,
    )
    warnings = [*accepting.changed_tests(scaffold, workspace), *unproven, *vacuous]
    for line in warnings:
        context.observe("warned", line)
    return {
        "touched": list(touched),
        "unproven": [*unproven, *vacuous],
        "findings": [*deviations, *warnings, *open_findings(state)],
    }


def _touched_extras(
    state: ImplementationState, touched: Collection[str]
) -> dict[str, str]:
    """Return the undeclared files that the item changes, with the last reason given."""
    extras: dict[str, str] = {}
    for iteration in state["iterations"]:
        extras |= iteration["extras"]
    for path in extras.keys() - set(touched):
        del extras[path]
    return extras


def _existing_sources(context: BuildContext) -> set[str]:
    existing = set()
    for path in context.blueprint.sources:
        if context.workspace.read_base(path) is not None:
            existing.add(path)
    return existing


async def finalize(state: ImplementationState, context: BuildContext) -> Update:
    """Commit the proven code to the item's branch, or leave the best attempt in the
    worktree.
    """
    if state["decision"]:
        best = proving.best_snapshot(state["iterations"], state["before"])
        if not best:
            return {}
        workspace = context.workspace
        await workspace.restore(best)
        touched = workspace.changed_files(state["base"], best)
        return {"touched": list(touched)}
    current = finished(state)
    commit = context.workspace.commit(
        current["snapshot"],
        rendering.commit_message(state, context.blueprint),
        state["began"],
    )
    branch = context.workspace.branch
    attempts = count_attempts(state["iterations"])
    iterations = count(attempts, "iteration")
    message = f"green in {iterations} on {branch}"
    unproven = len(state["unproven"])
    if unproven:
        things = "thing is" if unproven == 1 else "things are"
        message += f"; {unproven} {things} proven by no test, see the report"
    return {
        "commit": commit,
        "branch": branch,
        "decision": str(State.IMPLEMENTED),
        "message": message,
    }
