"""Have the code written, and prove it green: its own tests, then the whole suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentos.documents.changes import contract
from agentos.documents.judged_text import without_log
from agentos.item import Failure
from agentos.repository.look import Looker
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import (
    accepting,
    code_review,
    held_out,
    loop,
    proving,
    rendering,
    talk,
    unreachable,
    without_code,
)
from agentos.workflows.implementation.commands import describe_workspace
from agentos.workflows.implementation.context import (
    CODE,
    BuildContext,
    bill,
    question_to,
    report_attempt,
    run_tests_at,
    say_blocked,
    say_refused,
    write_accepted,
)
from agentos.workflows.implementation.phase import Phase
from agentos.workflows.implementation.state import (
    Contested,
    ImplementationState,
    Iteration,
    count_attempts,
    joined,
)
from agentos.workflows.looking import AskTurn, describe_looking
from agentos.workflows.prompts.rendering import enclose

_FEEDBACK = """\
What happened with your answer:

{feedback}

{tests}{files}Send only what has to change, in the form that "How to answer" describes; it is
applied to the files as they are now. Attempts left: {left}."""
_JUDGED = """\
Your work was judged:

{feedback}

The files are as you left them. Go on."""
_CHANGED_TESTS = """\
The tests have changed since you saw them:

{diff}

"""
_OTHER_FILES = """\
The files are again those of attempt {number}, which went better:

{texts}

"""
MOST_REPAIRS = 2
"""Attempts to put right what the review of the code found."""
MOST_COVERS = 2
"""How often a shortfall of coverage goes to the test writer."""
_COVER = """\
The code is written, and all tests pass with it. {lines}

Add tests for what the design asks of these lines, by the names of the scenarios that
they belong to, and leave the other tests as they are. You may look at the code as it is
now. For lines that no test can reach here (another platform, a race) write instead, for
the reviewer, a line {form} for each.{refused}"""
_NOT_ACCEPTED = """

The reviewer does not accept what was said of these lines:

{lines}"""
_FRESH: Mapping[str, Any] = {
    "code_said": [],
    "code_inputs": {},
    "code_turns": 0,
    "held_told": False,
}
"""What the code is begun from the base with: a conversation without a past."""
UNCHANGED = "the answer changes nothing, so nothing can turn out differently"


async def implement(state: ImplementationState, context: BuildContext) -> Update:
    """Have the code written on top of the best attempt so far, and write the accepted
    changes to the worktree.
    """
    workspace = context.workspace
    blueprint = context.blueprint
    iterations = state["iterations"]
    scaffold = state["scaffolds"][-1]
    said = talk.from_data(state.get("code_said", ()))
    if state.get("writer") == loop.LOOP:
        return await _write_in_turns(state, context, said)
    start = await _restore_start(state, context)
    looker = context.looker(start)
    inputs = state.get("code_inputs") or _begin(state, context, looker)
    if said:
        said = talk.say(said, _reply(state, context))
    answers_before = _count_answers(iterations)

    def ask(slips: int) -> AskTurn:
        number = answers_before + slips + 1
        return question_to(context, "code", CODE, number, inputs)

    def accept(answer: str, made: accepting.Made) -> accepting.AcceptedChanges:
        tests = tuple(scaffold["tests"])
        accepted = accepting.read_code(
            answer, blueprint, workspace, made, protected=tests
        )
        return write_accepted(context, accepted)

    beside = without_code.Beside(state, context, start)
    attempt = await talk.ask_for_changes(
        lambda slips: beside.wrap(ask(slips)),
        accept,
        said,
        looker,
        workspace.read,
    )
    update: Update = {
        "bare": beside.result,
        "code_inputs": inputs,
        "code_said": talk.as_data(attempt.said),
        **bill(state, *attempt.answers),
    }
    return {**update, **_take(state, context, attempt, start)}


async def _write_in_turns(
    state: ImplementationState, context: BuildContext, said: talk.Said
) -> Update:
    """Have the code written turn by turn; take one turn."""
    start = loop.start_of(state, contract.CODE)
    begin = ""
    if not start:
        start = await _show(state, context, state["snapshot"])
        iterations = state["iterations"][state.get("tried", 0) :]
        if iterations:
            begin = await _show(state, context, iterations[-1]["snapshot"])
    declared = {}
    for path in context.blueprint.sources:
        declared[path] = str(context.blueprint.declared[path])
    tests = held_out.visible_tests(state, context.blueprint)
    phase = Phase(contract.CODE, CODE, "coder", declared, start, tests, begin)
    inputs = state.get("code_inputs") or _begin_turns(state, context)
    if said and loop.begins(state, phase):
        said = talk.say(said, _reply_in_turns(state))
    step = await loop.take_turn(state, context, phase, inputs, said)
    update: Update = {"code_inputs": inputs, **step.update}
    if step.attempt is None:
        return update
    state = joined(state, update)
    return {**update, **_take(state, context, step.attempt, step.begin)}


def _begin_turns(state: ImplementationState, context: BuildContext) -> dict[str, str]:
    """Return what the conversation about the code begins with, if it has turns."""
    begin = _begin(state, context, None)
    for name in ("looking", "files"):
        del begin[name]
    begin["material"] = context.workspace.show_excerpts(state["source"])
    held = held_out.held_names(state, context.blueprint)
    names = state["scaffolds"][-1]["names"]
    begin["tests"] = "\n".join(name for name in names if name not in held)
    begin["workspace"] = describe_workspace(context.config)
    begin["answering"] = contract.answering(contract.CODE, in_turns=True)
    return begin


def _take(
    state: ImplementationState,
    context: BuildContext,
    attempt: talk.Attempt,
    start: str,
) -> Update:
    """Return the attempt with what can be said against it without running it."""
    workspace = context.workspace
    iterations = state["iterations"]
    accepted = attempt.accepted
    report_attempt(context, "coder", attempt)
    number = count_attempts(iterations) + 1
    snapshot = workspace.snapshot(f"iteration-{number}")
    problems = list(attempt.failures)
    design = state["source"]
    problems += accepting.inspect_written_code(accepted.files, workspace, design)
    contested = _contested(accepted)
    is_unchanged = not workspace.changed_files(start, snapshot)
    if is_unchanged and not problems and not contested:
        problems = [UNCHANGED]
    iteration = Iteration(
        answer=attempt.answer.text,
        author=attempt.answer.model,
        snapshot=snapshot,
        refusals=problems,
        extras=accepted.extras,
        run={},
        suite={},
        feedback=proving.refusal_feedback(problems),
        slips=attempt.slips,
        contested=contested,
        scaffold=len(state["scaffolds"]),
        has_code=not is_unchanged,
    )
    update: Update = {
        "iterations": [*iterations, iteration],
        "to_fix": False,
        "tests_changed": "",
    }
    if accepted.blocked:
        return {**update, **say_blocked(state, "coder", accepted.blocked)}
    return {
        **update,
        **_end_if_refused(state, context, iteration, is_last=is_unchanged),
    }


def _begin(
    state: ImplementationState, context: BuildContext, looker: Looker | None
) -> dict[str, str]:
    """Return what the conversation about the code begins with."""
    workspace = context.workspace
    blueprint = context.blueprint
    return {
        "item": state["item"],
        "design": without_log(state["source"]),
        "material": state["material"],
        "looking": describe_looking("coder", looker),
        "declared": rendering.list_declared(blueprint),
        "suite": proving.describe_suite_before(state),
        "remarks": "\n".join(state.get("plan_findings", ())),
        "tests": rendering.show_new_tests(workspace, state["scaffolds"][-1]["tests"]),
        "files": rendering.show_changed(workspace, blueprint.sources),
        "feedback": _earlier_feedback(state),
        "note": rendering.show_note(state),
        "answering": contract.answering(contract.CODE),
    }


def _earlier_feedback(state: ImplementationState) -> str:
    """Return what failed with code that an earlier run left; an attempt from the base
    begins without.
    """
    if state.get("tries"):
        return ""
    feedback = proving.feedback_for_next(state["iterations"], state["before"])
    return feedback or code_review.say_open(state)


async def _restore_start(state: ImplementationState, context: BuildContext) -> str:
    """Restore the best code so far with the tests as they are now; return the
    snapshot.
    """
    workspace = context.workspace
    number = len(state["scaffolds"])
    of_this_try = state["iterations"][state.get("tried", 0) :]
    best = proving.best_iteration(of_this_try, state["before"])
    if best is None:
        await workspace.restore(state["snapshot"])
        return state["snapshot"]
    await workspace.restore(best["snapshot"])
    if best.get("scaffold", number) == number:
        return best["snapshot"]
    workspace.write(state["scaffolds"][-1]["tests"])
    return workspace.snapshot("tests")


async def _show(
    state: ImplementationState, context: BuildContext, snapshot: str
) -> str:
    """Restore a snapshot with the tests as the coder sees them; return that as one."""
    workspace = context.workspace
    await workspace.restore(snapshot)
    workspace.write(held_out.visible_tests(state, context.blueprint))
    return workspace.snapshot("visible")


def _reply_in_turns(state: ImplementationState) -> str:
    """Return what the coder is told about the work that was judged."""
    last = state["iterations"][-1]
    return _JUDGED.format(feedback=enclose("feedback", last["feedback"]))


def _reply(state: ImplementationState, context: BuildContext) -> str:
    """Return what the coder is told about its last answer."""
    iterations = state["iterations"]
    last = iterations[-1]
    files = ""
    of_this_try = iterations[state.get("tried", 0) :]
    best = proving.best_iteration(of_this_try, state["before"])
    if best is not None and best is not last:
        changed = rendering.show_changed(context.workspace, context.blueprint.sources)
        texts = enclose("present text", changed)
        number = iterations.index(best) + 1
        files = _OTHER_FILES.format(number=number, texts=texts)
    tests = ""
    diff = state.get("tests_changed", "")
    if diff:
        tests = _CHANGED_TESTS.format(diff=enclose("changed tests", diff))
    left = context.config.max_iterations - count_attempts(iterations)
    return _FEEDBACK.format(
        feedback=enclose("feedback", last["feedback"]),
        tests=tests,
        files=files,
        left=max(left, 1),
    )


def _count_answers(iterations: Sequence[Iteration]) -> int:
    answers = count_attempts(iterations)
    for iteration in iterations:
        if not iteration.get("is_kept"):
            answers += len(iteration.get("slips", ()))
    return answers


def _contested(accepted: accepting.AcceptedChanges) -> list[Contested]:
    return [
        Contested(test=contest.test, reason=contest.reason)
        for contest in accepted.contested
    ]


async def prove_green(state: ImplementationState, context: BuildContext) -> Update:
    """Run the item's tests with the code."""
    *earlier, current = state["iterations"]
    scaffold = state["scaffolds"][-1]
    selection = accepting.selection(scaffold)
    held = held_out.held_names(state, context.blueprint)
    snapshot = current["snapshot"]
    if held:
        await context.workspace.restore(snapshot)
        context.workspace.write(scaffold["tests"])
        snapshot = context.workspace.snapshot("tests")
    # The lines of the tests themselves tell whether their assertions ran.
    run = await run_tests_at(context, snapshot, selection, selection)
    idle = proving.refuse_idle(run, scaffold, held)
    run = proving.own_tests(run, scaffold)
    seen, unseen = held_out.split(run, held)
    names = [name for name in scaffold["names"] if name not in held]
    refusals = proving.refuse_green(seen, names) or idle
    judged = Iteration(
        **{
            **current,
            "snapshot": snapshot,
            "run": proving.as_state(run),
            "refusals": refusals,
            "feedback": proving.test_feedback(seen, refusals, state["before"]),
        }
    )
    update: Update = {"iterations": [*earlier, judged]}
    if held and not refusals:
        update["held_failing"] = bool(proving.refuse_green(unseen, sorted(held)))
    return {**update, **_end_if_refused(state, context, judged)}


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
    target = context.config.coverage_target
    named = unreachable.counted(unreachable.claims_of(state), context.workspace)
    uncovered = proving.refuse_coverage(
        suite, measured, context.workspace, target, named
    )
    covers = state.get("covers", 0)
    judged = Iteration(**{**current, "suite": proving.as_state(suite)})
    update: Update = {"before": before, "to_cover": False}
    if uncovered and not refusals and covers < MOST_COVERS:
        # The coder cannot raise the coverage; who writes the tests can.
        say_refused(context, "coverage", uncovered)
        update["iterations"] = [*earlier, judged]
        shortfall = proving.coverage_shortfall(
            suite, measured, context.workspace, target, named
        )
        shown = _list(uncovered)
        if shortfall is not None:
            shown = proving.show_shortfall(shortfall, context.workspace)
            missed = unreachable.find_missed(shortfall.missing, context.workspace)
            update["missed"] = unreachable.as_data(missed)
        lines = enclose("lines", shown)
        update["to_mend"] = _COVER.format(
            lines=lines, form=contract.UNREACHABLE, refused=_say_refused(state)
        )
        update["covers"] = covers + 1
        update["mends"] = state.get("mends", 0) + 1
        return update
    refusals += uncovered
    held = held_out.held_names(state, context.blueprint)
    seen, _ = held_out.split(suite, held)
    judged["refusals"] = refusals
    judged["feedback"] = proving.test_feedback(seen, refusals, before)
    update["iterations"] = [*earlier, judged]
    return {**update, **_end_if_refused(state, context, judged)}


def _say_refused(state: ImplementationState) -> str:
    lines = unreachable.say_refused(unreachable.claims_of(state))
    if not lines:
        return ""
    return _NOT_ACCEPTED.format(lines=enclose("verdict", _list(lines)))


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def has_untested_code(attempt: Iteration) -> bool:
    """Tell whether an attempt has code that no proof has judged yet."""
    return attempt.get("has_code", True) and not (attempt["run"] or attempt["refusals"])


def falls_back(state: ImplementationState) -> bool:
    """Tell whether the attempt that passed all proofs counts, because what its review
    found could not be put right.
    """
    proven = state.get("proven", 0)
    if not proven:
        return False
    last = state["iterations"][-1]
    attempts = len(state["iterations"]) - proven
    return attempts >= MOST_REPAIRS or not last.get("has_code", True)


def finished(state: ImplementationState) -> Iteration:
    """Return the attempt that is delivered: the last one, or the one that passed all
    proofs before its review sent it back in vain.
    """
    iterations = state["iterations"]
    last = iterations[-1]
    proven = state.get("proven", 0)
    if proven and last["refusals"]:
        return iterations[proven - 1]
    return last


def _end_if_refused(
    state: ImplementationState,
    context: BuildContext,
    attempt: Iteration,
    *,
    is_last: bool = False,
) -> Update:
    """Report why an attempt was refused, and end the item after the last one."""
    if not attempt["refusals"]:
        return {}
    if attempt.get("is_kept"):
        say_refused(context, "the code that was kept", attempt["refusals"])
        return {}
    iterations = state["iterations"]
    number = count_attempts(iterations)
    if not attempt["run"]:
        # It was refused before its tests ran, so the state does not hold it yet.
        number += 1
        iterations = [*iterations, attempt]
    else:
        iterations = [*iterations[:-1], attempt]
    say_refused(context, f"iteration {number}", attempt["refusals"])
    is_last = is_last or loop.is_out_of_turns(state, context.config, contract.CODE)
    of_this_try = number - state.get("tried", 0)
    if of_this_try < context.config.max_iterations and not is_last:
        return {}
    if state.get("proven"):
        # What its review sent back could not be mended; the proven attempt counts.
        return {}
    tries = state.get("tries", 0) + 1
    if tries < context.config.attempts:
        context.observe("noted", f"attempt {tries} has failed; beginning from the base")
        return {"tries": tries, "tried": number, **_FRESH}
    best = proving.best_iteration(iterations, state["before"]) or attempt
    cause = (best["refusals"] or attempt["refusals"])[0]
    message = (
        f"not green after {number} iterations: {cause}; "
        f"what was kept of it: agentos salvage {state['item']}"
    )
    return {
        "decision": str(Failure.NOT_GREEN),
        "message": message,
        "findings": best["refusals"] or attempt["refusals"],
    }
