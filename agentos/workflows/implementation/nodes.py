"""The steps of an implementation: each takes the state and returns what it changes.

A step that runs generated code begins by putting the worktree where the state says it is and ends with a snapshot, so a
step that was cut off anywhere is simply done again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Protocol

from agentos.confinement.folder import AllowanceExceeded, PathRefused
from agentos.documents.verdict import verdict_json
from agentos.documents.verdict.model import Decision
from agentos.proofs.runs import TestRun
from agentos.providers import Completion
from agentos.task import Failure, State
from agentos.workflows.flow import Ask, Observe
from agentos.workflows.implementation import bare, proving, showing, taking
from agentos.workflows.implementation.blueprint import Blueprint, find_plan_problems
from agentos.workflows.implementation.state import ImplementationState, Iteration, Scaffold
from agentos.workflows.implementation.workbench import Workbench
from agentos.workflows.steps import Update
from agentos.workflows.verdicts import ask_for_verdict

SCAFFOLD_ATTEMPTS = 3
MOST_DOUBTS = 5
PLAN, TESTS, CODE = "N1_review_plan", "N2_scaffold", "N4_implement"


class Prompts(Protocol):
    """What the models of the workflow are told."""

    def render(self, role: str, inputs: Mapping[str, str]) -> str:
        """Fill the prompt of a role."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the steps need from outside the state."""

    ask: Ask
    prompts: Prompts
    blueprint: Blueprint
    bench: Workbench
    max_iterations: int
    coverage_target: float
    observe: Observe


async def load(state: ImplementationState, context: Context) -> Update:
    """Make the worktree and the environment ready, and see that the repository's own tests can be run at all."""
    for doubt in context.blueprint.doubts[:MOST_DOUBTS]:
        context.observe("warned", f"the design, {doubt[:1].lower()}{doubt[1:]}")
    base = await context.bench.open()
    showing.check_texts(context.bench, context.blueprint.declared)
    before = await context.bench.test_base()
    proving.check_base(before)
    material = context.bench.gather(state["source"])
    return {
        "base": base,
        "snapshot": base,
        "before": proving.as_state(before),
        "environment": "; ".join(context.bench.environment_notes),
        "material": material,
    }


async def review_plan(state: ImplementationState, context: Context) -> Update:
    """Have the test plan judged before anything is built on it: first by a rule, then by the reviewer."""
    if problems := find_plan_problems(context.blueprint):
        message = f"the test plan has a gap: {_first_of(problems)}; revise the design's section 10.1"
        return {"decision": str(State.NEEDS_REVISION), "message": message, "findings": problems}
    inputs = {"item": state["item"], "design": state["source"]}

    answers: list[Completion] = []

    async def ask(attempt: int, again: str) -> Completion:
        answers.append(await _ask(context, "review", PLAN, 1, inputs, attempt=attempt, more=again, schema="verdict"))
        return answers[-1]

    verdict, answer, _ = await ask_for_verdict(ask)
    update: Update = {
        "plan": verdict_json(verdict),
        "plan_answer": answer.text,
        "reviewer": answer.model,
        **_bill(state, *answers),
        "findings": [f"{finding.id} ({finding.tier}): {finding.text}" for finding in verdict.findings],
    }
    match verdict.decision:
        case Decision.REVISE:
            return {**update, "decision": str(State.NEEDS_REVISION), "message": f"the test plan: {verdict.summary}"}
        case Decision.DISCUSS:
            questions = list(verdict.questions) or [verdict.summary]
            return {
                **update,
                "decision": str(State.NEEDS_DISCUSSION),
                "message": verdict.summary,
                "questions": questions,
            }
    return update


async def scaffold(state: ImplementationState, context: Context) -> Update:
    """Have the tests written, and refuse by reading them those that prove nothing."""
    await context.bench.restore(state["base"])
    attempts = state["scaffolds"]
    last = attempts[-1] if attempts else None
    inputs = {
        "item": state["item"],
        "design": state["source"],
        "material": state["material"],
        "files": showing.show_files(context.bench, context.blueprint.declared),
        "test_files": "\n".join(context.blueprint.tests),
        "problems": "\n".join(f"- {problem}" for problem in last["problems"]) if last else "",
        "previous_tests": showing.show_texts(last["tests"]) if last else "",
    }
    answer = await _ask(context, "tests", TESTS, len(attempts) + 1, inputs)
    taken = taking.take_tests(answer.text, context.blueprint, context.bench)
    attempt = Scaffold(
        answer=answer.text,
        author=answer.model,
        tests=taken.files,
        names=taken.names,
        earlier=taken.earlier,
        problems=taken.problems,
    )
    if not taken.problems:
        attempt["problems"] = _write(context, taken)
    update: Update = {"scaffolds": [*attempts, attempt], **_bill(state, answer)}
    if attempt["problems"]:
        return {**update, **_red_ending(context, update["scaffolds"])}
    return {**update, "snapshot": context.bench.snapshot("tests")}


async def prove_red(state: ImplementationState, context: Context) -> Update:
    """Run the tests without the code: each must fail, and for the behaviour that is missing."""
    bench, blueprint = context.bench, context.blueprint
    attempts = state["scaffolds"]
    current = attempts[-1]
    await bench.restore(state["snapshot"])
    stand_ins = taking.skeletons_for(blueprint, bench)
    bench.write(stand_ins)
    run = proving.own_tests(await bench.test(taking.selection(current)), current)
    await bench.restore(state["snapshot"], worthless=stand_ins)
    problems = proving.refuse_red(run, current, blueprint, bench)
    judged = Scaffold(**{**current, "problems": problems})
    update: Update = {
        "scaffolds": [*attempts[:-1], judged],
        "red": proving.as_state(run),
        "bare": {} if stand_ins else proving.as_state(run),
    }
    if problems:
        return {**update, **_red_ending(context, update["scaffolds"])}
    return update


def _say_refused(context: Context, what: str, reasons: list[str]) -> None:
    context.observe("noted", f"{what}: {_first_of(reasons)}")


def _first_of(reasons: list[str]) -> str:
    return reasons[0] + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")


def _red_ending(context: Context, attempts: list[Scaffold]) -> Update:
    _say_refused(context, f"tests, attempt {len(attempts)}", attempts[-1]["problems"])
    if len(attempts) < SCAFFOLD_ATTEMPTS:
        return {}
    first = attempts[-1]["problems"][0]
    message = f"no usable tests in {len(attempts)} attempts: {first}"
    return {"decision": str(Failure.RED_INVALID), "message": message, "findings": attempts[-1]["problems"]}


async def implement(state: ImplementationState, context: Context) -> Update:
    """Have the code written on top of the best attempt so far, and write into the worktree what may be written."""
    bench, blueprint = context.bench, context.blueprint
    iterations = state["iterations"]
    start = proving.best_snapshot(iterations, state["before"]) or state["snapshot"]
    await bench.restore(start)
    tests = state["scaffolds"][-1]["tests"]
    inputs = {
        "item": state["item"],
        "design": state["source"],
        "material": state["material"],
        "declared": showing.list_declared(blueprint),
        "files": showing.show_files(bench, blueprint.sources),
        "tests": showing.show_texts(tests),
        "feedback": proving.feedback_for_next(iterations, state["before"]),
    }
    asking = _ask(context, "code", CODE, len(iterations) + 1, inputs)
    shown = state.get("bare", {})
    if bare.is_wanted(state, blueprint):
        answer, shown = await bare.run_beside(asking, bench, state["scaffolds"][-1], start)
    else:
        answer = await asking
    taken = taking.take_code(answer.text, blueprint, bench, protected=tuple(tests))
    problems = taken.problems or _write(context, taken)
    snapshot = "" if problems else bench.snapshot(f"iteration-{len(iterations) + 1}")
    attempt = Iteration(
        answer=answer.text,
        author=answer.model,
        snapshot=snapshot,
        refusals=problems,
        extras=taken.extras,
        run={},
        suite={},
        feedback=proving.refusal_feedback(problems),
    )
    update: Update = {"iterations": [*iterations, attempt], "bare": shown}
    return {**update, **_bill(state, answer), **_cap(state, context, attempt)}


async def prove_green(state: ImplementationState, context: Context) -> Update:
    """Run the item's tests with the code."""
    *earlier, current = state["iterations"]
    scaffold = state["scaffolds"][-1]
    run = proving.own_tests(await _test_at(context, current["snapshot"], taking.selection(scaffold)), scaffold)
    refusals = proving.refuse_green(run, scaffold["names"])
    feedback = proving.test_feedback(run, refusals)
    judged = Iteration(**{**current, "run": proving.as_state(run), "refusals": refusals, "feedback": feedback})
    return {"iterations": [*earlier, judged], **_cap(state, context, judged)}


async def prove_no_regression(state: ImplementationState, context: Context) -> Update:
    """Run the repository's whole suite and measure what it reaches of the modules that are declared or touched.

    What failed before the change is not held against it.
    """
    *earlier, current = state["iterations"]
    touched = context.bench.changed_files(state["base"], current["snapshot"])
    measured = context.blueprint.measured(touched)
    suite = await _test_at(context, current["snapshot"], (), measured)
    before = state["before"] or proving.as_state(await context.bench.test_base())
    refusals = proving.refuse_regression(suite, before, context.blueprint)
    refusals += proving.refuse_coverage(suite, measured, context.bench, context.coverage_target)
    judged = Iteration(
        **{
            **current,
            "suite": proving.as_state(suite),
            "refusals": refusals,
            "feedback": proving.test_feedback(suite, refusals) if refusals else "",
        }
    )
    return {"iterations": [*earlier, judged], "before": before, **_cap(state, context, judged)}


async def validate(state: ImplementationState, context: Context) -> Update:
    """Take each declared file back in turn: a change that no test notices is named, and a test that notices none."""
    current = state["iterations"][-1]
    scaffold = state["scaffolds"][-1]
    bench = context.bench
    touched = bench.changed_files(state["base"], current["snapshot"])
    reverted = {}
    for path in context.blueprint.provable:
        if state.get("bare") and {*touched} - {*scaffold["tests"]} == {path}:
            reverted[path] = TestRun.from_data(state["bare"])
        elif path in touched:
            await bench.restore(current["snapshot"])
            bench.revert(path, state["base"])
            reverted[path] = proving.own_tests(await bench.test(taking.selection(scaffold)), scaffold)
    await bench.restore(current["snapshot"])
    unproven, vacuous = proving.find_vacuous(current["run"], reverted, scaffold, context.blueprint)
    extras = {path: reason for iteration in state["iterations"] for path, reason in iteration["extras"].items()}
    extras = {path: reason for path, reason in extras.items() if path in touched}
    existed = {path for path in context.blueprint.sources if bench.read_base(path) is not None}
    changed = taking.changed_tests(scaffold, bench)
    findings = [*proving.say_deviations(extras, touched, existed, context.blueprint), *changed, *unproven, *vacuous]
    for line in (*changed, *unproven, *vacuous):
        context.observe("warned", line)
    return {"touched": list(touched), "unproven": [*unproven, *vacuous], "findings": findings}


async def finalise(state: ImplementationState, context: Context) -> Update:
    """Put what was proven on the item's branch; otherwise leave the best attempt in the worktree."""
    if state["decision"]:
        best = proving.best_snapshot(state["iterations"], state["before"])
        if not best:
            return {}
        await context.bench.restore(best)
        return {"touched": list(context.bench.changed_files(state["base"], best))}
    current = state["iterations"][-1]
    commit = context.bench.commit(current["snapshot"], showing.commit_message(state, context.blueprint), state["began"])
    count = len(state["iterations"])
    message = f"green in {count} {'iteration' if count == 1 else 'iterations'} on {context.bench.branch}"
    if unproven := len(state["unproven"]):
        message += f"; {unproven} {'thing is' if unproven == 1 else 'things are'} proven by no test, see the report"
    return {
        "commit": commit,
        "branch": context.bench.branch,
        "decision": str(State.IMPLEMENTED),
        "message": message,
    }


async def _test_at(
    context: Context, snapshot: str, selection: tuple[str, ...], measured: tuple[str, ...] = ()
) -> TestRun:
    """Run tests on a snapshot and undo whatever they did to the worktree."""
    await context.bench.restore(snapshot)
    run = await context.bench.test(selection, measured)
    await context.bench.restore(snapshot)
    return run


def _write(context: Context, taken: taking.Taken) -> list[str]:
    """Write what an answer asks for, or return why it cannot be written as a whole."""
    try:
        context.bench.write(taken.files, delete=taken.deleted)
    except (PathRefused, AllowanceExceeded) as error:
        return [str(error)]
    return []


def _bill(state: ImplementationState, *answers: Completion) -> Update:
    """Count answers and what they cost."""
    cost = state.get("cost", 0) + sum(answer.cost for answer in answers)
    return {"calls": state["calls"] + len(answers), "cost": cost}


def _cap(state: ImplementationState, context: Context, attempt: Iteration) -> Update:
    """Say why an attempt was refused, and end the item when there is none left."""
    number = len(state["iterations"]) + (0 if attempt["run"] else 1)
    if not attempt["refusals"]:
        return {}
    _say_refused(context, f"iteration {number}", attempt["refusals"])
    if number < context.max_iterations:
        return {}
    message = (
        f"not green after {number} iterations: {attempt['refusals'][0]}; "
        f"what was kept of it: agentos salvage {state['item']}"
    )
    return {"decision": str(Failure.NOT_GREEN), "message": message, "findings": attempt["refusals"]}


def _ask(
    context: Context,
    role: str,
    node: str,
    round: int,
    inputs: Mapping[str, str],
    *,
    attempt: int = 1,
    more: str = "",
    schema: str = "",
) -> Awaitable[Completion]:
    prompt = context.prompts.render(role, inputs) + more
    return context.ask(role=role, node=node, round=round, attempt=attempt, prompt=prompt, inputs=inputs, schema=schema)
