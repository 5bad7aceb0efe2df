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
from agentos.workflows.implementation import (
    accepting,
    proving,
    rendering,
    unreachable,
)
from agentos.workflows.implementation.code_review import (
    code_ledger,
    end_if_asked,
    find_harm,
    say_open_findings,
)
from agentos.workflows.implementation.coding import finished
from agentos.workflows.implementation.context import BuildContext
from agentos.workflows.implementation.state import ImplementationState, count_attempts

MOST_DOUBTS = 5


async def load(state: ImplementationState, context: BuildContext) -> Update:
    """Prepare the worktree and the environment, and check that the repository's own
    tests can run.
    """
    workspace = context.workspace
    blueprint = context.blueprint
    for doubt in blueprint.doubts[:MOST_DOUBTS]:
        first = doubt[:1].lower()
        rest = doubt[1:]
        line = f"the design, {first}{rest}"
        context.observe("warned", line)
    base = await workspace.open()
    rendering.check_texts(workspace, blueprint.declared)
    before = await workspace.test_base()
    proving.check_base(before)
    line = proving.say_base(before)
    context.observe("noted", line)
    environment = "; ".join(workspace.environment_notes)
    material = workspace.gather(state["source"])
    return {
        "base": base,
        "snapshot": base,
        "before": proving.as_state(before),
        "environment": environment,
        "missing_extras": list(workspace.missing_extras),
        "material": material,
        "writer": context.config.writer,
    }


async def validate(state: ImplementationState, context: BuildContext) -> Update:
    """Revert each declared file in turn, and report changes that no test notices and
    tests that notice no change.
    """
    current = finished(state)
    scaffold = state["scaffolds"][-1]
    workspace = context.workspace
    blueprint = context.blueprint
    snapshot = current["snapshot"]
    base = state["base"]
    touched = workspace.changed_files(base, snapshot)
    changed_sources = set(touched).difference(scaffold["tests"])
    run_without_code = state.get("bare")
    reverted = {}
    for path in proving.find_provable(scaffold, blueprint):
        if run_without_code and changed_sources == {path}:
            # Reverting the only changed file is the run without code, which is known.
            reverted[path] = TestRun.from_data(run_without_code)
        elif path in touched:
            await workspace.restore(snapshot)
            workspace.revert(path, base)
            selection = accepting.selection(scaffold)
            run = await workspace.test(selection)
            reverted[path] = proving.own_tests(run, scaffold)
    await workspace.restore(snapshot)
    kept = proving.find_kept(state, blueprint)
    unproven, vacuous = proving.find_vacuous(current["run"], reverted, scaffold, kept)
    extras = _touched_extras(state, touched)
    existing = _existing_sources(context)
    deviations = proving.say_deviations(extras, touched, existing, blueprint)
    weaker = accepting.changed_tests(scaffold, workspace)
    unnoticed = [*unproven, *vacuous]
    warnings = [*weaker, *unnoticed]
    for line in warnings:
        context.observe("warned", line)
    unreached = unreachable.say_claims(unreachable.claims_of(state))
    still_open = say_open_findings(code_ledger(state))
    return {
        "touched": list(touched),
        "unproven": unnoticed,
        "findings": [*deviations, *warnings, *unreached, *still_open],
        **_end_if_harmful(state),
    }


def _end_if_harmful(state: ImplementationState) -> Update:
    """Deliver nothing of which the reviewer says, also after the repair, that it does
    harm or proves nothing.
    """
    harm = find_harm(state)
    if not harm:
        # A repair that failed had no review after it, which would have asked again.
        return end_if_asked(code_ledger(state))
    item = state["item"]
    message = (
        f"the review of the code: {harm[0]}; go on with: implement-workflow --ids {item}"
        f" --note '...', or take what is there: agentos salvage {item}"
    )
    return {"decision": str(State.NEEDS_REVISION), "message": message}


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
    workspace = context.workspace
    for path in context.blueprint.sources:
        if workspace.read_base(path) is not None:
            existing.add(path)
    return existing


async def finalize(state: ImplementationState, context: BuildContext) -> Update:
    """Commit the proven code to the item's branch, or leave the best attempt in the
    worktree.
    """
    workspace = context.workspace
    if state["decision"]:
        base = state["base"]
        before = state["before"]
        best = proving.best_snapshot(state["iterations"], before)
        if not best:
            return {}
        await workspace.restore(best)
        touched = workspace.changed_files(base, best)
        return {"touched": list(touched)}
    current = finished(state)
    said = rendering.commit_message(state, context.blueprint)
    snapshot = current["snapshot"]
    began = state["began"]
    commit = workspace.commit(snapshot, said, began)
    branch = workspace.branch
    tried = state["iterations"]
    attempts = count_attempts(tried)
    iterations = count(attempts, "iteration")
    message = f"green in {iterations} on {branch}"
    unproven = len(state["unproven"])
    things = "things are"
    if unproven == 1:
        things = "thing is"
    if unproven:
        message += f"; {unproven} {things} proven by no test, see the report"
    return {
        "commit": commit,
        "branch": branch,
        "decision": str(State.IMPLEMENTED),
        "message": message,
    }
