"""Have the reviewer rule on tests that the coder says are wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from agentos.documents.judged_text import without_log
from agentos.documents.verdict import Verdict
from agentos.documents.verdict.model import Decision
from agentos.gateway.providers import Completion, Message
from agentos.item import State
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import proving, rendering
from agentos.workflows.implementation.context import (
    CONTEST,
    BuildContext,
    bill,
    question_to,
    report_looks,
)
from agentos.workflows.implementation.state import (
    Contested,
    ImplementationState,
    Iteration,
)
from agentos.workflows.looking import describe_looking
from agentos.workflows.verdicts import ask_for_verdict

MOST_RULINGS = 2
"""How often contested tests go to the reviewer."""
_STAND = "the tests that you contest are right, says the reviewer: {}"
_NO_MORE = (
    "contested tests go to the reviewer {} times at most; change the code, or answer"
    " `blocked:` with the reason"
)
_MEND = """\
Somebody wrote the code and says that some of these tests are wrong; the reviewer of the
code agrees:

{findings}

Mend these tests, and leave the others as they are. An edit applies to your tests as they
are now."""


async def rule(state: ImplementationState, context: BuildContext) -> Update:
    """Ask the reviewer whether the contested tests are wrong; if so, they are mended."""
    *earlier, current = state["iterations"]
    rulings = state.get("rulings", 0)
    if rulings == MOST_RULINGS:
        judged = _settle(current, [_NO_MORE.format(MOST_RULINGS)])
        return {"iterations": [*earlier, judged]}
    workspace = context.workspace
    snapshot = current["snapshot"]
    await workspace.restore(snapshot)
    looker = context.looker(snapshot)
    inputs = {
        "item": state["item"],
        "design": without_log(state["source"]),
        "looking": describe_looking("reviewer", looker),
        "tests": rendering.show_new_tests(workspace, state["scaffolds"][-1]["tests"]),
        "code": workspace.diff(state["snapshot"], snapshot),
        "contested": _list(current.get("contested", [])),
    }

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        turn = question_to(
            context,
            "contest",
            CONTEST,
            rulings + 1,
            inputs,
            attempt=attempt,
            schema="look_or_verdict",
        )
        return turn(said)

    judgment = await ask_for_verdict(ask, looker)
    report_looks(context, "reviewer", judgment.looked)
    update: Update = {"rulings": rulings + 1, **bill(state, *judgment.answers)}
    verdict = judgment.verdict
    context.observe("noted", f"contested tests: {verdict.summary}")
    match verdict.decision:
        case Decision.DISCUSS:
            questions = list(verdict.questions) or [verdict.summary]
            return {
                **update,
                "decision": str(State.NEEDS_DISCUSSION),
                "message": questions[0],
                "questions": questions,
            }
        case Decision.REVISE:
            text = _MEND.format(findings=_findings(verdict))
            settled = Iteration(**{**current, "contested": []})
            return {
                **update,
                "to_mend": text,
                "missed": [],
                "mends": state.get("mends", 0) + 1,
                "iterations": [*earlier, settled],
            }
    judged = _settle(current, [_STAND.format(verdict.summary)])
    return {**update, "iterations": [*earlier, judged]}


def _settle(current: Iteration, refusals: list[str]) -> Iteration:
    """Return the attempt with the ruling; one that has code is tested with it."""
    judged = Iteration(**{**current, "contested": []})
    judged["feedback"] = proving.refusal_feedback(refusals)
    if not current.get("has_code", True):
        judged["refusals"] = refusals
    return judged


def _list(contested: Sequence[Contested]) -> str:
    return "\n".join(f"- {one['test']}: {one['reason']}" for one in contested)


def _findings(verdict: Verdict) -> str:
    lines = [f"- {finding.section}: {finding.text}" for finding in verdict.findings]
    return "\n".join(lines) or f"- {verdict.summary}"
