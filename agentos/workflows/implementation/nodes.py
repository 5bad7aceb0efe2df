"""The steps of an implementation; each takes the state and returns its changes.

A step that runs generated code first restores the worktree to the snapshot that the
state names, and ends with a new snapshot. So an interrupted step can simply run again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agentos.documents.judged_text import without_log
from agentos.documents.verdict import verdict_json
from agentos.documents.verdict.model import Decision
from agentos.gateway.providers import Completion, Message
from agentos.item import Failure, State
from agentos.proving.runners.runs import TestRun
from agentos.settings import RunConfig
from agentos.state.confinement.folder import PathRefused, WriteQuotaExceeded
from agentos.state.wording import count
from agentos.workflows.engine.flow import Ask, Observe
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import (
    accepting,
    proving,
    rendering,
    without_code,
)
from agentos.workflows.implementation.blueprint import Blueprint, find_plan_problems
from agentos.workflows.implementation.state import (
    ImplementationState,
    Iteration,
    Scaffold,
)
from agentos.workflows.implementation.workspace import Workspace
from agentos.workflows.prompts.overrides import Overrides
from agentos.workflows.verdicts import ask_for_verdict

SCAFFOLD_ATTEMPTS = 3
MOST_DOUBTS = 5
PLAN, TESTS, CODE = "N1_review_plan", "N2_scaffold", "N4_implement"


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What the steps need from outside the state."""

    ask: Ask
    prompts: Overrides
    blueprint: Blueprint
    workspace: Workspace
    config: RunConfig
    observe: Observe


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
    return {
        "base": base,
        "snapshot": base,
        "before": proving.as_state(before),
        "environment": "; ".join(context.workspace.environment_notes),
        "material": context.workspace.gather(state["source"]),
    }


async def review_plan(state: ImplementationState, context: BuildContext) -> Update:
    """Have the test plan reviewed before anything is built: first by a rule, then by
    the reviewer.
    """
    problems = find_plan_problems(context.blueprint)
    if problems:
        message = (
            f"the test plan has a gap: {_first_of(problems)}; revise the design's"
            " section 10.1"
        )
        return {
            "decision": str(State.NEEDS_REVISION),
            "message": message,
            "findings": problems,
        }
    inputs = {"item": state["item"], "design": without_log(state["source"])}

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        return _ask(
            context,
            "review",
            PLAN,
            1,
            inputs,
            attempt=attempt,
            said=said,
            schema="verdict",
        )

    judgment = await ask_for_verdict(ask)
    verdict = judgment.verdict
    answer = judgment.answer
    update: Update = {
        "plan": verdict_json(verdict),
        "plan_answer": answer.text,
        "reviewer": answer.model,
        **_bill(state, *judgment.answers),
        "findings": [
            f"{finding.id} ({finding.tier}): {finding.text}"
            for finding in verdict.findings
        ],
    }
    match verdict.decision:
        case Decision.REVISE:
            return {
                **update,
                "decision": str(State.NEEDS_REVISION),
                "message": f"the test plan: {verdict.summary}",
            }
        case Decision.DISCUSS:
            questions = list(verdict.questions) or [verdict.summary]
            return {
                **update,
                "decision": str(State.NEEDS_DISCUSSION),
                "message": verdict.summary,
                "questions": questions,
            }
    return update


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
        "problems": problems,
        "previous_tests": previous_tests,
    }
    answer = await _ask(context, "tests", TESTS, len(attempts) + 1, inputs)
    accepted = accepting.accept_tests(answer.text, context.blueprint, context.workspace)
    attempt = Scaffold(
        answer=answer.text,
        author=answer.model,
        tests=accepted.files,
        names=accepted.names,
        earlier=accepted.existing,
        problems=accepted.problems,
    )
    if not accepted.problems:
        attempt["problems"] = _write(context, accepted)
    update: Update = {"scaffolds": [*attempts, attempt], **_bill(state, answer)}
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


def _say_refused(context: BuildContext, what: str, reasons: list[str]) -> None:
    context.observe("noted", f"{what}: {_first_of(reasons)}")


def _first_of(reasons: list[str]) -> str:
    if len(reasons) == 1:
        return reasons[0]
    return f"{reasons[0]} (and {len(reasons) - 1} more)"


def _red_ending(context: BuildContext, attempts: list[Scaffold]) -> Update:
    _say_refused(context, f"tests, attempt {len(attempts)}", attempts[-1]["problems"])
    if len(attempts) < SCAFFOLD_ATTEMPTS:
        return {}
    first = attempts[-1]["problems"][0]
    message = f"no usable tests in {len(attempts)} attempts: {first}"
    return {
        "decision": str(Failure.RED_INVALID),
        "message": message,
        "findings": attempts[-1]["problems"],
    }


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
        "feedback": proving.feedback_for_next(iterations, state["before"]),
    }
    asking = _ask(context, "code", CODE, len(iterations) + 1, inputs)
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
    problems = accepted.problems or _write(context, accepted)
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
        **_bill(state, answer),
        **_end_if_refused(state, context, attempt),
    }


async def prove_green(state: ImplementationState, context: BuildContext) -> Update:
    """Run the item's tests with the code."""
    *earlier, current = state["iterations"]
    scaffold = state["scaffolds"][-1]
    selection = accepting.selection(scaffold)
    run = await _test_at(context, current["snapshot"], selection)
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
    suite = await _test_at(context, current["snapshot"], (), measured)
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


async def validate(state: ImplementationState, context: BuildContext) -> Update:
    """Revert each declared file in turn, and report changes that no test notices and
    tests that notice no change.
    """
    current = state["iterations"][-1]
    scaffold = state["scaffolds"][-1]
    workspace = context.workspace
    touched = workspace.changed_files(state["base"], current["snapshot"])
    changed_sources = set(touched).difference(scaffold["tests"])
    run_without_code = state.get("bare")
    reverted = {}
    for path in context.blueprint.provable:
        if run_without_code and changed_sources == {path}:
            # Reverting the only changed file is the run without code, which is known.
            reverted[path] = TestRun.from_data(run_without_code)
        elif path in touched:
            await workspace.restore(current["snapshot"])
            workspace.revert(path, state["base"])
            run = await workspace.test(accepting.selection(scaffold))
            reverted[path] = proving.own_tests(run, scaffold)
    await workspace.restore(current["snapshot"])
    unproven, vacuous = proving.find_vacuous(
        current["run"], reverted, scaffold, context.blueprint
    )
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
        "findings": [*deviations, *warnings],
    }


def _touched_extras(
    state: ImplementationState, touched: Collection[str]
) -> dict[str, str]:
    """Return the undeclared files that the item changes, with the last reason given."""
    extras: dict[str, str] = {}
    for iteration in state["iterations"]:
        extras |= iteration["extras"]
    return {path: reason for path, reason in extras.items() if path in touched}


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
        await context.workspace.restore(best)
        return {"touched": list(context.workspace.changed_files(state["base"], best))}
    current = state["iterations"][-1]
    commit = context.workspace.commit(
        current["snapshot"],
        rendering.commit_message(state, context.blueprint),
        state["began"],
    )
    branch = context.workspace.branch
    iterations = count(len(state["iterations"]), "iteration")
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


async def _test_at(
    context: BuildContext,
    snapshot: str,
    selection: tuple[str, ...],
    measured: tuple[str, ...] = (),
) -> TestRun:
    """Run tests on a snapshot and undo whatever they did to the worktree."""
    await context.workspace.restore(snapshot)
    run = await context.workspace.test(selection, measured)
    await context.workspace.restore(snapshot)
    return run


def _write(context: BuildContext, accepted: accepting.AcceptedChanges) -> list[str]:
    """Write the accepted changes, or return the reason why they cannot be written."""
    try:
        context.workspace.write(accepted.files, delete=accepted.deleted)
    except (PathRefused, WriteQuotaExceeded) as error:
        return [str(error)]
    return []


def _bill(state: ImplementationState, *answers: Completion) -> Update:
    """Add answers to the number of calls and their cost."""
    cost = state.get("cost", 0) + sum(answer.cost for answer in answers)
    return {"calls": state["calls"] + len(answers), "cost": cost}


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
    _say_refused(context, f"iteration {number}", attempt["refusals"])
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


def _ask(
    context: BuildContext,
    role: str,
    node: str,
    round: int,
    inputs: Mapping[str, str],
    *,
    attempt: int = 1,
    said: Sequence[Message] = (),
    schema: str = "",
) -> Awaitable[Completion]:
    prompt = context.prompts.render(role, inputs)
    return context.ask(
        role=role,
        node=node,
        round=round,
        attempt=attempt,
        messages=(*prompt, *said),
        inputs=inputs,
        schema=schema,
    )
