"""Have the tests written from the design, and prove them red."""

from __future__ import annotations

from agentos.documents.changes import contract
from agentos.documents.changes.contract import TESTS
from agentos.documents.judged_text import without_log
from agentos.item import Failure
from agentos.proving.inspection import plain_id
from agentos.repository.look import Looker
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import (
    accepting,
    loop,
    proving,
    rendering,
    talk,
    unreachable,
)
from agentos.workflows.implementation.commands import describe_workspace
from agentos.workflows.implementation.context import TESTS as TESTS_NODE
from agentos.workflows.implementation.context import (
    BuildContext,
    bill,
    question_to,
    report_attempt,
    say_blocked,
    say_refused,
    write_accepted,
)
from agentos.workflows.implementation.existing_tests import say_taken
from agentos.workflows.implementation.phase import Phase
from agentos.workflows.implementation.state import (
    ImplementationState,
    Iteration,
    Scaffold,
    count_attempts,
    joined,
)
from agentos.workflows.looking import AskTurn, describe_looking

SCAFFOLD_ATTEMPTS = 3
_REFUSED = """\
These tests cannot be used yet:

{problems}

They are written as you sent them. Send what changes, in the form that "How to answer"
describes; an edit applies to your tests as they are now."""


async def scaffold(state: ImplementationState, context: BuildContext) -> Update:
    """Have the tests written, or mended, and refuse those that prove nothing without
    running them.
    """
    workspace = context.workspace
    attempts = state["scaffolds"]
    latest = attempts[-1] if attempts else None
    said = talk.from_data(state.get("tests_said", ()))
    start = loop.start_of(state, TESTS)
    if start:
        return await _write_in_turns(state, context, start, said)
    start = state["base"]
    if latest is not None:
        start = latest.get("snapshot") or start
        if latest.get("is_kept"):
            # Its snapshot may be of another base.
            start = state["snapshot"] if not latest["problems"] else state["base"]
    await workspace.restore(start)
    if state.get("writer") == loop.LOOP:
        return await _write_in_turns(state, context, start, said)
    looker = context.looker(_visible(state, start))
    inputs = state.get("tests_inputs") or _begin(state, context, looker)
    if latest is not None and said:
        said = talk.say(said, _reply(state, latest))
    answers_before = _count_answers(attempts)

    claims = unreachable.claims_of(state)
    missed = unreachable.missed_in(state)

    def ask(slips: int) -> AskTurn:
        number = answers_before + slips + 1
        return question_to(context, TESTS, TESTS_NODE, number, inputs)

    def accept(answer: str, made: accepting.Made) -> accepting.AcceptedChanges:
        accepted = accepting.read_tests(answer, context.blueprint, workspace, made)
        named, problems = unreachable.read_claims(accepted.unreachable, missed)
        if missed:
            # Before, nobody has asked: what is named too early is said again.
            accepted.slips += problems
        claims[:] = unreachable.add_claims(claims, named)
        return write_accepted(context, accepted)

    attempt = await talk.ask_for_changes(ask, accept, said, looker, workspace.read)
    update: Update = {
        "tests_inputs": inputs,
        "tests_said": talk.as_data(attempt.said),
        **bill(state, *attempt.answers),
    }
    return {**update, **_take(state, context, attempt, claims)}


async def _write_in_turns(
    state: ImplementationState,
    context: BuildContext,
    start: str,
    said: talk.Said,
) -> Update:
    """Have the tests written turn by turn; take one turn."""
    declared = {}
    for path in context.blueprint.tests:
        declared[path] = str(context.blueprint.declared[path])
    # What mends the tests is tried with the code that there is.
    start = _visible(state, start)
    phase = Phase(TESTS, TESTS_NODE, "test writer", declared, start)
    inputs = state.get("tests_inputs") or _begin_turns(state, context)
    attempts = state["scaffolds"]
    if attempts and said and loop.begins(state, phase):
        said = talk.say(said, _reply(state, attempts[-1]))
    step = await loop.take_turn(state, context, phase, inputs, said)
    update: Update = {"tests_inputs": inputs, **step.update}
    if step.attempt is None:
        return update
    missed = unreachable.missed_in(state)
    claimed = step.attempt.accepted.unreachable
    named, _ = unreachable.read_claims(claimed, missed)
    claims = unreachable.add_claims(unreachable.claims_of(state), named)
    await _take_off_code(state, context)
    state = joined(state, update)
    return {**update, **_take(state, context, step.attempt, claims)}


async def _take_off_code(state: ImplementationState, context: BuildContext) -> None:
    """Leave the tests that were mended with the code there on the files without it."""
    workspace = context.workspace
    if not (state.get("to_mend") and state["iterations"]):
        return
    tests = {}
    for path in context.blueprint.tests:
        text = workspace.read(path)
        if text is not None:
            tests[path] = text
    await workspace.restore(state["snapshot"])
    workspace.write(tests)


def _begin_turns(state: ImplementationState, context: BuildContext) -> dict[str, str]:
    """Return what the conversation about the tests begins with, if it has turns."""
    begin = _begin(state, context, None)
    del begin["looking"]
    begin["material"] = context.workspace.show_excerpts(state["source"])
    begin["workspace"] = describe_workspace(context.config)
    begin["answering"] = contract.answering(contract.TESTS, in_turns=True)
    return begin


def _take(
    state: ImplementationState,
    context: BuildContext,
    attempt: talk.Attempt,
    claims: list[unreachable.Claim],
) -> Update:
    """Return the attempt with what speaks against its tests, and how it goes on."""
    report_attempt(context, "test writer", attempt)
    scaffold = _judge(context, attempt)
    update: Update = {
        "scaffolds": [*state["scaffolds"], scaffold],
        "claims": unreachable.as_data(claims),
    }
    if attempt.accepted.blocked:
        return {**update, **say_blocked(state, "test writer", attempt.accepted.blocked)}
    if scaffold["problems"]:
        return {**update, **_red_ending(state, context, update["scaffolds"])}
    return {**update, "snapshot": scaffold["snapshot"], "to_mend": "", "missed": []}


def _visible(state: ImplementationState, start: str) -> str:
    """Return the commit that the test writer may look at: once there is code, what
    mends the tests has to fit it.
    """
    if state.get("to_mend") and state["iterations"]:
        return state["iterations"][-1]["snapshot"]
    return start


def _begin(
    state: ImplementationState, context: BuildContext, looker: Looker | None
) -> dict[str, str]:
    """Return what the conversation about the tests begins with."""
    workspace = context.workspace
    blueprint = context.blueprint
    return {
        "item": state["item"],
        "design": without_log(state["source"]),
        "material": state["material"],
        "looking": describe_looking("coder", looker),
        "files": rendering.list_files(workspace, blueprint.declared),
        "test_files": _list_test_files(context),
        "remarks": "\n".join(state.get("plan_findings", ())),
        "suite": proving.describe_suite_before(state),
        "earlier": _show_earlier(state),
        "note": rendering.show_note(state),
        "answering": contract.answering(contract.TESTS),
    }


def _list_test_files(context: BuildContext) -> str:
    """List the test files of the design, with the names that are taken there."""
    blueprint = context.blueprint
    lines = []
    for path in blueprint.tests:
        text = context.workspace.read_base(path)
        line = say_taken(path, text, blueprint.scenarios)
        lines.append(line)
    return "\n".join(lines)


def _show_earlier(state: ImplementationState) -> str:
    """Show the tests that an earlier run left, and what was wrong with them."""
    if not state["scaffolds"]:
        return ""
    kept = state["scaffolds"][-1]
    problems = "\n".join(f"- {problem}" for problem in kept["problems"])
    texts = rendering.show_texts(kept["tests"])
    if not problems:
        to_mend = state.get("to_mend", "")
        return f"These tests are there, and stay:\n\n{texts}\n\n{to_mend}"
    return (
        f"These tests were refused, and are not there any more:\n{problems}\n\n{texts}"
    )


def _reply(state: ImplementationState, latest: Scaffold) -> str:
    """Return what the test writer is told about its last tests."""
    to_mend = state.get("to_mend", "")
    if to_mend and not latest["problems"]:
        return to_mend
    problems = "\n".join(f"- {problem}" for problem in latest["problems"])
    return _REFUSED.format(problems=problems)


def _count_answers(attempts: list[Scaffold]) -> int:
    answers = count_attempts(attempts)
    for attempt in attempts:
        if not attempt.get("is_kept"):
            answers += len(attempt.get("slips", ()))
    return answers


def _judge(context: BuildContext, attempt: talk.Attempt) -> Scaffold:
    """Return the attempt with what speaks against its tests; edits of later answers
    build on it whatever that is.
    """
    workspace = context.workspace
    files = {}
    for path in context.blueprint.tests:
        text = workspace.read(path)
        if text is not None and text != workspace.read_base(path):
            files[path] = text
    inspected = accepting.inspect_written_tests(
        files, context.blueprint, workspace, workspace.skip_conditions()
    )
    kept = {}
    for said in attempt.accepted.kept:
        for scenario in said.scenarios:
            kept[plain_id(scenario)] = said.reason
    return Scaffold(
        answer=attempt.answer.text,
        author=attempt.answer.model,
        tests=files,
        names=inspected.names,
        earlier=inspected.existing,
        problems=[*attempt.failures, *inspected.problems],
        slips=attempt.slips,
        kept=kept,
        snapshot=workspace.snapshot("tests"),
    )


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
    problems = proving.refuse_red(
        run,
        current,
        blueprint,
        workspace,
        kept=proving.find_kept(state, blueprint),
        before=state["before"],
    )
    judged = Scaffold(**{**current, "problems": problems})
    update: Update = {
        "scaffolds": [*attempts[:-1], judged],
        "red": proving.as_state(run),
        "bare": {} if stand_ins else proving.as_state(run),
    }
    if problems:
        return {**update, **_red_ending(state, context, update["scaffolds"])}
    if state["iterations"]:
        update |= await _put_below_code(state, context)
    return update


async def _put_below_code(state: ImplementationState, context: BuildContext) -> Update:
    """Put tests that have changed below the code that was written already."""
    workspace = context.workspace
    *earlier, latest = state["iterations"]
    scaffold = state["scaffolds"][-1]
    tests_before = latest["snapshot"]
    await workspace.restore(tests_before)
    workspace.write(scaffold["tests"])
    snapshot = workspace.snapshot("tests")
    changed = ""
    if state.get("writer") != loop.LOOP:
        # In a loop there are tests that the coder must not see; it can look.
        changed = workspace.diff(tests_before, snapshot)
    # Also of an attempt that only contests a test: the code below it was written before.
    code = workspace.changed_files(state["snapshot"], snapshot)
    rebased = Iteration(
        **{
            **latest,
            "snapshot": snapshot,
            "run": {},
            "suite": {},
            "refusals": [],
            "scaffold": len(state["scaffolds"]),
            "feedback": "The tests were mended; see how they have changed.",
            "has_code": bool(code),
        }
    )
    return {"iterations": [*earlier, rebased], "tests_changed": changed}


def _red_ending(
    state: ImplementationState, context: BuildContext, attempts: list[Scaffold]
) -> Update:
    number = count_attempts(attempts)
    if not number:
        say_refused(context, "the tests that were kept", attempts[-1]["problems"])
        return {}
    say_refused(context, f"tests, attempt {number}", attempts[-1]["problems"])
    # Tests that are to be mended get as many attempts as the first ones.
    allowed = SCAFFOLD_ATTEMPTS * (1 + state.get("mends", 0))
    is_last = loop.is_out_of_turns(state, context.config, TESTS)
    if number < allowed and not is_last:
        return {}
    first = attempts[-1]["problems"][0]
    failure = Failure.RED_INVALID
    message = f"no usable tests in {number} attempts: {first}"
    if state["iterations"]:
        failure = Failure.NOT_GREEN
        message = f"the tests could not be mended: {first}"
    return {
        "decision": str(failure),
        "message": message,
        "findings": attempts[-1]["problems"],
    }
