"""The steps of a drafting kind; each takes the state and returns its changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.markdown import MAX_CHARACTERS
from agentos.documents.provenance import (
    APPROVED_STATUS,
    RECORDED,
    RECORDED_STATUS,
    RULES,
    SIMULATED_STATUS,
    SKELETON_STATUS,
)
from agentos.documents.review_log import Review
from agentos.documents.verdict import parse_verdict, verdict_json
from agentos.errors import ModelFormat
from agentos.gateway.providers import Completion, Message
from agentos.item import State
from agentos.settings import RunConfig
from agentos.workflows.drafting.kind import DraftingKind
from agentos.workflows.drafting.loop import (
    LoopEnding,
    basis_of,
    end_of_review,
    end_of_validation,
    findings_of,
    follow,
    latest_review,
    open_findings,
)
from agentos.workflows.drafting.state import DraftingState, RoundState
from agentos.workflows.engine.flow import Ask, Observe
from agentos.workflows.engine.steps import Update
from agentos.workflows.prompts.overrides import Overrides
from agentos.workflows.verdicts import ask_for_verdict

DRAFT_LIMIT = MAX_CHARACTERS


@dataclass(frozen=True, slots=True)
class DraftingContext:
    """What the steps need from outside the state."""

    kind: DraftingKind
    ask: Ask
    prompts: Overrides
    gather: Callable[[str], str]
    """Return the repository context of a source."""
    check: Callable[[str, str, str], Sequence[Finding]]
    """Check a draft mechanically against its source, the previous draft and the
    repository.
    """
    config: RunConfig
    today: Callable[[], str]
    provenance: str
    observe: Observe


async def load(state: DraftingState, context: DraftingContext) -> Update:
    """Gather the repository context for the drafter."""
    return {"decision": "", "material": context.gather(state["source"])}


async def draft(state: DraftingState, context: DraftingContext) -> Update:
    """Have the document written, or revised to resolve the open findings."""
    rounds = state["rounds"]
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "template": context.prompts.template,
        # A checkpoint of an earlier version has none.
        "material": state.get("material", ""),
        "previous_draft": _basis_draft(rounds),
        "findings": _as_json(open_findings(rounds)) if rounds else "",
    }
    answer = await _ask(context, "draft", len(rounds) + 1, 1, inputs, schema="")
    text = context.kind.unwrap(answer.text).strip()
    if not text:
        raise ModelFormat(
            "the drafter gave an empty answer; run again, or name another --drafter"
        )
    if len(text) > DRAFT_LIMIT:
        raise ModelFormat(
            f"the drafter gave {len(text)} characters, the limit is {DRAFT_LIMIT}; name"
            " another --drafter"
        )
    new = RoundState(
        draft=text + "\n",
        drafter=answer.model,
        problems=[],
        verdict="",
        fates={},
        answer="",
        reviewer="",
        reviewed_on="",
    )
    return {"rounds": [*rounds, new], "calls": state["calls"] + 1}


async def validate(state: DraftingState, context: DraftingContext) -> Update:
    """Check the draft mechanically, so that no reviewer is paid for what a rule can
    find.
    """
    *earlier, current = state["rounds"]
    findings: Sequence[Finding] = ()
    # A skeleton is not sent back for its gaps: the rules' review lists them.
    if current["drafter"] != RULES:
        previous = _basis_draft(earlier)
        findings = context.check(current["draft"], state["source"], previous)
    problems = [_as_data(finding) for finding in findings if blocks_approval(finding)]
    rounds = [*earlier, RoundState(**{**current, "problems": problems})]
    return {
        "rounds": rounds,
        **_ended(end_of_validation(rounds, context.config.max_rounds)),
    }


async def review(state: DraftingState, context: DraftingContext) -> Update:
    """Have the draft reviewed; the reviewer sees the source, the draft and the earlier
    findings.
    """
    *earlier, current = state["rounds"]
    last = latest_review(earlier)
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "draft": current["draft"],
        "earlier_findings": _as_json(findings_of(last)) if last else "",
    }

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        return _ask(
            context,
            "review",
            len(state["rounds"]),
            attempt,
            inputs,
            schema="verdict",
            said=said,
        )

    verdict, answer, asked = await ask_for_verdict(ask)
    tracked = follow(verdict, earlier, current["draft"])
    verdict = replace(verdict, findings=tracked.findings)
    judged = RoundState(
        **{
            **current,
            "verdict": verdict_json(verdict),
            "fates": tracked.to_json(),
            "answer": answer.text,
            "reviewer": answer.model,
            "reviewed_on": context.today(),
        }
    )
    rounds = [*earlier, judged]
    ending = end_of_review(verdict, rounds, context.config.max_rounds)
    return {"rounds": rounds, "calls": state["calls"] + asked, **_ended(ending)}


async def finalize(state: DraftingState, context: DraftingContext) -> Update:
    """Write the finished document with its status, if there is one."""
    match state["decision"]:
        case State.APPROVED if state["rounds"][-1]["reviewer"] == RECORDED:
            status = RECORDED_STATUS
        case State.APPROVED:
            status = APPROVED_STATUS
        case State.SKELETON:
            status = SKELETON_STATUS
        case State.SIMULATED:
            status = SIMULATED_STATUS
        case _:
            return {"final": ""}
    text = context.kind.finalize(
        state["rounds"][-1]["draft"],
        item=state["item"],
        status=status,
        reviews=reviews_of(state),
        provenance=context.provenance,
    )
    return {"final": text}


def reviews_of(state: DraftingState) -> list[Review]:
    """Return the reviews of all rounds that had one."""
    reviews: list[Review] = []
    for round in state["rounds"]:
        if round["verdict"]:
            review = Review(
                len(reviews) + 1,
                round["reviewer"],
                round["reviewed_on"],
                parse_verdict(round["verdict"]),
            )
            reviews.append(review)
    return reviews


def _basis_draft(rounds: Sequence[RoundState]) -> str:
    basis = basis_of(rounds)
    return basis["draft"] if basis else ""


def _ended(ending: LoopEnding) -> Update:
    return {"decision": str(ending.decision), "message": ending.message}


def _as_json(findings: Sequence[Finding]) -> str:
    return json.dumps([_as_data(finding) for finding in findings], ensure_ascii=False)


def _as_data(finding: Finding) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(finding).items()}


def _ask(
    context: DraftingContext,
    role: str,
    round: int,
    attempt: int,
    inputs: Mapping[str, str],
    schema: str,
    said: Sequence[Message] = (),
) -> Awaitable[Completion]:
    kind = context.kind
    node = kind.nodes[1] if role == "draft" else kind.nodes[3]
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
