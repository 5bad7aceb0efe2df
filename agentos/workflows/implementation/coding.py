"""Have the code written, and prove it green: its own tests, then the whole suite."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.changes import contract
from agentos.documents.judged_text import without_log
from agentos.item import Failure
from agentos.proving.runners.runs import TestRun
from agentos.repository.look import Looker
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import (
    accepting,
    proving,
    rendering,
    talk,
    unreachable,
    without_code,
)
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
from agentos.workflows.implementation.state import (
    Contested,
    ImplementationState,
    Iteration,
    count_attempts,
)
from agentos.workflows.looking import AskTurn, describe_looking
from agentos.workflows.prompts.rendering import enclose

_FEEDBACK = """\
What happened with your answer:

{feedback}

{tests}{files}Send only what has to change, in the form that "How to answer" describes; it is
applied to the files as they are now. Attempts left: {left}."""
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
the reviewer, a line `{form}` for each."""
UNCHANGED = "the answer changes nothing, so nothing can turn out differently"


async def implement(state: ImplementationState, context: BuildContext) -> Update:
    """Have the code written on top of the best attempt so far, and write the accepted
    changes to the worktree.
    """
    workspace = context.workspace
    blueprint = context.blueprint
    iterations = state["iterations"]
    scaffold = state["scaffolds"][-1]
    start = await _restore_start(state, context)
    looker = context.looker(start)
    inputs = state.get("code_inputs") or _begin(state, context, looker)
    said = talk.from_data(state.get("code_said", ()))
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
        "bare": beside.result,
        "code_inputs": inputs,
        "to_fix": False,
        "tests_changed": "",
        "code_said": talk.as_data(attempt.said),
        **bill(state, *attempt.answers),
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
        "suite": proving.describe_base(TestRun.from_data(state["before"])),
        "remarks": "\n".join(state.get("plan_findings", ())),
        "tests": rendering.show_new_tests(workspace, state["scaffolds"][-1]["tests"]),
        "files": rendering.show_changed(workspace, blueprint.sources),
        "feedback": proving.feedback_for_next(state["iterations"], state["before"]),
        "note": rendering.show_note(state),
        "answering": contract.answering(contract.CODE),
    }


async def _restore_start(state: ImplementationState, context: BuildContext) -> str:
    """Restore the best code so far with the tests as they are now; return the
    snapshot.
    """
    workspace = context.workspace
    number = len(state["scaffolds"])
    best = proving.best_iteration(state["iterations"], state["before"])
    if best is None:
        await workspace.restore(state["snapshot"])
        return state["snapshot"]
    await workspace.restore(best["snapshot"])
    if best.get("scaffold", number) == number:
        return best["snapshot"]
    workspace.write(state["scaffolds"][-1]["tests"])
    return workspace.snapshot("tests")


def _reply(state: ImplementationState, context: BuildContext) -> str:
    """Return what the coder is told about its last answer."""
    iterations = state["iterations"]
    last = iterations[-1]
    files = ""
    best = proving.best_iteration(iterations, state["before"])
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
    # The lines of the tests themselves tell whether their assertions ran.
    run = await run_tests_at(context, current["snapshot"], selection, selection)
    refusals = proving.refuse_idle(run, scaffold)
    run = proving.own_tests(run, scaffold)
    refusals = proving.refuse_green(run, scaffold["names"]) or refusals
    judged = Iteration(
        **{
            **current,
            "run": proving.as_state(run),
            "refusals": refusals,
            "feedback": proving.test_feedback(run, refusals, state["before"]),
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
    target = context.config.coverage_target
    named = unreachable.named_in(state)
    uncovered = proving.refuse_coverage(
        suite, measured, context.workspace, target, named
    )
    covers = state.get("covers", 0)
    judged = Iteration(**{**current, "suite": proving.as_state(suite)})
    update: Update = {"before": before}
    if uncovered and not refusals and covers < MOST_COVERS:
        # The coder cannot raise the coverage; who writes the tests can.
        say_refused(context, "coverage", uncovered)
        judged["run"] = {}
        update["iterations"] = [*earlier, judged]
        shortfall = proving.coverage_shortfall(
            suite, measured, context.workspace, target, named
        )
        shown = _list(uncovered)
        if shortfall is not None:
            shown = proving.show_shortfall(shortfall, context.workspace)
        lines = enclose("lines", shown)
        update["to_mend"] = _COVER.format(lines=lines, form=unreachable.HOW_TO_SAY)
        update["covers"] = covers + 1
        update["mends"] = state.get("mends", 0) + 1
        return update
    refusals += uncovered
    judged["refusals"] = refusals
    judged["feedback"] = proving.test_feedback(suite, refusals, before)
    update["iterations"] = [*earlier, judged]
    return {**update, **_end_if_refused(state, context, judged)}


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
    if number < context.config.max_iterations and not is_last:
        return {}
    if state.get("proven"):
        # What its review sent back could not be mended; the proven attempt counts.
        return {}
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
