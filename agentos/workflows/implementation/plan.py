"""Have the test plan of a design reviewed before anything is built."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from agentos.documents.judged_text import without_log
from agentos.documents.verdict import verdict_json
from agentos.documents.verdict.model import Decision
from agentos.gateway.providers import Completion, Message
from agentos.item import State
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation.blueprint import find_plan_problems
from agentos.workflows.implementation.context import (
    PLAN,
    BuildContext,
    bill,
    first_of,
    question_to,
)
from agentos.workflows.implementation.state import ImplementationState
from agentos.workflows.verdicts import ask_for_verdict


async def review_plan(state: ImplementationState, context: BuildContext) -> Update:
    """Have the test plan reviewed before anything is built: first by a rule, then by
    the reviewer.
    """
    problems = find_plan_problems(context.blueprint)
    if problems:
        message = (
            f"the test plan has a gap: {first_of(problems)}; revise the design's"
            " section 10.1"
        )
        return {
            "decision": str(State.NEEDS_REVISION),
            "message": message,
            "findings": problems,
        }
    inputs = {"item": state["item"], "design": without_log(state["source"])}

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        return question_to(
            context,
            "review",
            PLAN,
            1,
            inputs,
            attempt=attempt,
            schema="plan_verdict",
        )(said)

    judgment = await ask_for_verdict(ask)
    verdict = judgment.verdict
    answer = judgment.answer
    update: Update = {
        "plan": verdict_json(verdict),
        "plan_answer": answer.text,
        "reviewer": answer.model,
        "kept": [entry.scenario for entry in verdict.kept if entry.kept],
        "changed": [entry.scenario for entry in verdict.kept if not entry.kept],
        **bill(state, *judgment.answers),
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
