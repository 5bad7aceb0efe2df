"""Have the reviewer read the finished change against the design.

Its findings go back to the coder once; what stays open stands in the report. Its
questions are put to a person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.judged_text import without_log
from agentos.documents.ledger import (
    Ledger,
    LedgerEntry,
    Said,
    ledger_from_data,
    record_review,
)
from agentos.documents.verdict import (
    Decision,
    EarlierState,
    Verdict,
    verdict_json,
)
from agentos.gateway.providers import Completion, Message
from agentos.item import State
from agentos.plain_data import to_data
from agentos.proving.runners.runs import TestRun
from agentos.workflows.drafting.showing import show_earlier
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import proving, unreachable
from agentos.workflows.implementation.context import (
    REVIEW,
    BuildContext,
    bill,
    question_to,
    report_looks,
    say_refused,
)
from agentos.workflows.implementation.evidence import describe_evidence
from agentos.workflows.implementation.state import ImplementationState, Iteration
from agentos.workflows.looking import describe_looking
from agentos.workflows.verdicts import ask_for_verdict

_PROOF = "the proof of coverage"
_FIX = """\
All tests pass. The reviewer has read the change and found:

{findings}

Put it right in the code; the tests have to stay green."""


async def review_code(state: ImplementationState, context: BuildContext) -> Update:
    """Have the whole change reviewed, with looks at the repository as it is then."""
    *earlier, current = state["iterations"]
    workspace = context.workspace
    snapshot = current["snapshot"]
    await workspace.restore(snapshot)
    reviews = state.get("code_reviews", [])
    proof = Said(_PROOF, _today())
    claims, ledger = unreachable.ask_reviewer(
        unreachable.claims_of(state), code_ledger(state), workspace, proof
    )
    looker = context.looker(snapshot)
    touched = workspace.changed_files(state["base"], snapshot)
    inputs = {
        "item": state["item"],
        "design": without_log(state["source"]),
        "looking": describe_looking("reviewer", looker),
        "diff": workspace.diff(state["base"], snapshot),
        "evidence": describe_evidence(state, current, workspace, touched),
        "remarks": "\n".join(state.get("plan_findings", ())),
        "earlier_findings": show_earlier(ledger, ()),
    }

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        turn = question_to(
            context,
            "diff",
            REVIEW,
            len(reviews) + 1,
            inputs,
            attempt=attempt,
            schema="look_or_verdict",
        )
        return turn(said)

    judgment = await ask_for_verdict(ask, looker, ledger)
    report_looks(context, "reviewer", judgment.looked)
    said = Said(judgment.answer.model, _today())
    verdict = _with_reason(judgment.verdict)
    ledger, verdict = record_review(ledger, verdict, said, snapshot, state["base"])
    claims, ledger = unreachable.settle(claims, ledger)
    to_fix = list(filter(_must_be_fixed, ledger.open))
    update: Update = {
        "code_ledger": to_data(ledger),
        "code_reviews": [*reviews, verdict_json(verdict)],
        "claims": unreachable.as_data(claims),
        "to_fix": False,
        **bill(state, *judgment.answers),
    }
    if _is_uncovered(claims, state, context):
        # The lines need a test first; what else was found is asked about again then.
        say_refused(context, "coverage", unreachable.say_refused(claims))
        return {**update, "to_cover": True}
    update["proven"] = len(state["iterations"])
    if verdict.decision is not Decision.APPROVED:
        context.observe("noted", f"review of the code: {verdict.summary}")
    if to_fix and not state.get("is_sent_back"):
        sent_back = Iteration(**{**current, "feedback": _say(to_fix)})
        update["to_fix"] = True
        update["is_sent_back"] = True
        update["iterations"] = [*earlier, sent_back]
        return update
    summary = ""
    if verdict.decision is Decision.DISCUSS:
        summary = verdict.summary
    return {**update, **end_if_asked(ledger, summary)}


def _with_reason(verdict: Verdict) -> Verdict:
    """Return a verdict whose summary is a finding if it gives no other reason to
    revise.
    """
    still_open = [each for each in verdict.earlier if each.state is EarlierState.OPEN]
    has_reason = verdict.findings or verdict.questions or still_open
    if verdict.decision is not Decision.REVISE or has_reason:
        return verdict
    reason = Finding("summary", Tier.HIGH, Category.QUALITY, "", verdict.summary)
    return replace(verdict, findings=(reason,))


def end_if_asked(ledger: Ledger, summary: str = "") -> Update:
    """End the item if a person has to say whether the change is right; the summary of a
    review stands for a question that it does not put.
    """
    questions = list(ledger.questions)
    if summary and not questions:
        questions.append(summary)
    if not questions:
        return {}
    return {
        "decision": str(State.NEEDS_DISCUSSION),
        "message": questions[0],
        "findings": say_open_findings(ledger),
        "questions": questions,
    }


def _is_uncovered(
    claims: Sequence[unreachable.Claim],
    state: ImplementationState,
    context: BuildContext,
) -> bool:
    """Tell whether too few lines run in tests without those of refused claims."""
    if not any(map(unreachable.is_refused, claims)):
        return False
    workspace = context.workspace
    current = state["iterations"][-1]
    touched = workspace.changed_files(state["base"], current["snapshot"])
    uncovered = proving.refuse_coverage(
        TestRun.from_data(current["suite"]),
        context.blueprint.measured(touched),
        workspace,
        context.config.coverage_target,
        unreachable.counted(claims, workspace),
    )
    return bool(uncovered)


def code_ledger(state: ImplementationState) -> Ledger:
    """Return what reviews of the code have found."""
    stored = state.get("code_ledger")
    return ledger_from_data(stored) if stored else Ledger()


def say_open_findings(ledger: Ledger) -> list[str]:
    """Return what reviews of the code found and nobody has settled, a line each."""
    return [
        f"review of the code, {entry.id} ({entry.tier}): {entry.text}"
        for entry in ledger.open
    ]


def say_open(state: ImplementationState) -> str:
    """Return what the coder has to put right by reviews of an earlier run, empty if
    there is nothing.
    """
    to_fix = list(filter(_must_be_fixed, code_ledger(state).open))
    return _say(to_fix) if to_fix else ""


def find_harm(state: ImplementationState) -> list[str]:
    """Return the blocking findings that are still open, a line each: such a change is
    not delivered.
    """
    harm = []
    for entry in code_ledger(state).open:
        if entry.tier is Tier.BLOCKING:
            line = f"{entry.id}: {entry.text}"
            harm.append(line)
    return harm


def _must_be_fixed(entry: LedgerEntry) -> bool:
    return entry.tier in (Tier.BLOCKING, Tier.HIGH)


def _say(entries: Sequence[LedgerEntry]) -> str:
    lines = []
    for entry in entries:
        lines.append(f"- {entry.id} ({entry.tier}): {entry.text}")
        lines += [
            f"  {quote.path}:{quote.line}  {quote.text}" for quote in entry.quotes
        ]
    return _FIX.format(findings="\n".join(lines))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
