"""The steps of a drafting workflow: each takes the state and returns what it changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.review_log import Review
from agentos.documents.verdict import Decision, Verdict, VerdictError, parse_verdict, verdict_json
from agentos.errors import BadInput, ModelFormat
from agentos.providers import Completion
from agentos.task import State
from agentos.wording import count
from agentos.workflows.kind import Kind
from agentos.workflows.prompts import render_prompt
from agentos.workflows.state import DraftingState, RoundState

FORMAT_ATTEMPTS = 2
DRAFT_LIMIT = 1_000_000


class Ask(Protocol):
    """Ask a model for a completion."""

    def __call__(
        self,
        *,
        role: str,
        node: str,
        round: int,
        attempt: int,
        prompt: str,
        inputs: Mapping[str, str],
        schema: str,
    ) -> Awaitable[Completion]: ...


@dataclass(frozen=True, slots=True)
class Context:
    """What the steps need from outside the state."""

    kind: Kind
    ask: Ask
    max_rounds: int
    today: Callable[[], str]
    stamp: str
    observe: Callable[[str, str], None]
    """Told `started` or `finished` and the name of a step."""


Update = dict[str, Any]


async def load(state: DraftingState, context: Context) -> Update:
    """Refuse a source that is no usable spec."""
    if defects := context.kind.find_defects(state["source"]):
        raise BadInput(f"Invalid spec format: {'; '.join(defects)}")
    return {"decision": ""}


async def draft(state: DraftingState, context: Context) -> Update:
    """Have the document written, or revised by what was found in the last round."""
    rounds = state["rounds"]
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "previous_draft": rounds[-1]["draft"] if rounds else "",
        "findings": json.dumps(_open_findings(rounds[-1]), ensure_ascii=False) if rounds else "",
    }
    answer = await _ask(context, "draft", len(rounds) + 1, 1, inputs, schema="")
    text = answer.text.strip()
    if not text:
        raise ModelFormat("the drafter gave an empty answer; run again, or name another --drafter")
    if len(text) > DRAFT_LIMIT:
        raise ModelFormat(
            f"the drafter gave {len(text)} characters, the limit is {DRAFT_LIMIT}; name another --drafter"
        )
    new = RoundState(
        draft=text + "\n", drafter=answer.model, problems=[], verdict="", answer="", reviewer="", reviewed_on=""
    )
    return {"rounds": [*rounds, new], "calls": state["calls"] + 1}


async def validate(state: DraftingState, context: Context) -> Update:
    """Check the draft by machine, so that no reviewer is paid for what a rule can see."""
    *earlier, current = state["rounds"]
    previous = earlier[-1]["draft"] if earlier else ""
    findings = context.kind.check(current["draft"], state["source"], previous)
    problems = [_as_data(finding) for finding in findings if blocks_approval(finding)]
    rounds = [*earlier, RoundState(**{**current, "problems": problems})]
    is_last = len(rounds) >= context.max_rounds or current["draft"] == previous
    if problems and is_last:
        return {
            "rounds": rounds,
            "decision": State.NEEDS_REVISION.value,
            "message": f"{count(len(problems), 'finding')} of the mechanical check still open: {problems[0]['text']}",
        }
    return {"rounds": rounds}


async def review(state: DraftingState, context: Context) -> Update:
    """Have the draft judged by the reviewer, who sees the source and the draft and nothing else."""
    *earlier, current = state["rounds"]
    inputs = {"item": state["item"], context.kind.source: state["source"], "draft": current["draft"]}
    calls = state["calls"]
    complaint = ""
    for attempt in range(1, FORMAT_ATTEMPTS + 1):
        answer = await _ask(context, "review", len(state["rounds"]), attempt, inputs, schema="verdict")
        calls += 1
        try:
            verdict = parse_verdict(answer.text)
            break
        except VerdictError as error:
            complaint = str(error)
    else:
        raise ModelFormat(f"no usable verdict in {FORMAT_ATTEMPTS} answers of the reviewer: {complaint}")
    judged = RoundState(
        **{
            **current,
            "verdict": verdict_json(verdict),
            "answer": answer.text,
            "reviewer": answer.model,
            "reviewed_on": context.today(),
        }
    )
    rounds = [*earlier, judged]
    # A drafter that gives the same text again will go on to: further rounds would be paid for nothing.
    is_last = len(rounds) >= context.max_rounds or bool(earlier and earlier[-1]["draft"] == current["draft"])
    return {"rounds": rounds, "calls": calls, **_decide(verdict, len(rounds), is_last)}


async def finalise(state: DraftingState, context: Context) -> Update:
    """Write the finished document when it was approved; nothing else is ever filed."""
    if state["decision"] != State.APPROVED:
        return {"final": ""}
    text = context.kind.finalise(
        state["rounds"][-1]["draft"],
        item=state["item"],
        status="APPROVED",
        reviews=reviews_of(state),
        stamp=context.stamp,
    )
    return {"final": text}


def reviews_of(state: DraftingState) -> list[Review]:
    """Return the reviews of all rounds that had one."""
    reviewed = [entry for entry in state["rounds"] if entry["verdict"]]
    return [
        Review(number, entry["reviewer"], entry["reviewed_on"], parse_verdict(entry["verdict"]))
        for number, entry in enumerate(reviewed, start=1)
    ]


def best_round(state: DraftingState) -> RoundState | None:
    """Return the round with the fewest findings that block approval, reviewed ones first; of equals, the last."""
    return min(
        reversed(state["rounds"]), key=lambda entry: (not entry["verdict"], _count_blocking(entry)), default=None
    )


def _count_blocking(entry: RoundState) -> int:
    if not entry["verdict"]:
        return len(entry["problems"])
    return sum(blocks_approval(finding) for finding in parse_verdict(entry["verdict"]).findings)


def _decide(verdict: Verdict, rounds: int, is_last: bool) -> Update:
    match verdict.decision:
        case Decision.APPROVED:
            return {"decision": State.APPROVED.value, "message": verdict.summary}
        case Decision.DISCUSS:
            asked = verdict.questions[0] if verdict.questions else verdict.summary
            return {"decision": State.NEEDS_DISCUSSION.value, "message": asked}
        case Decision.REVISE if is_last:
            blocking = [finding for finding in verdict.findings if blocks_approval(finding)]
            first = blocking[0].text if blocking else verdict.summary
            return {
                "decision": State.NEEDS_REVISION.value,
                "message": f"not approved in {count(rounds, 'round')}: {first}",
            }
        case _:
            return {"decision": ""}


def _open_findings(entry: RoundState) -> list[dict[str, str]]:
    if not entry["verdict"]:
        return entry["problems"]
    return [_as_data(finding) for finding in parse_verdict(entry["verdict"]).findings]


def _as_data(finding: Finding) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(finding).items()}


def _ask(
    context: Context, role: str, round: int, attempt: int, inputs: Mapping[str, str], schema: str
) -> Awaitable[Completion]:
    kind = context.kind
    node = kind.nodes[1] if role == "draft" else kind.nodes[3]
    prompt = render_prompt(kind.package, role, inputs)
    return context.ask(role=role, node=node, round=round, attempt=attempt, prompt=prompt, inputs=inputs, schema=schema)
