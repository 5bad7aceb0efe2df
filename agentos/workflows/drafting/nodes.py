"""The steps of a drafting workflow: each takes the state and returns what it changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.review_log import Review
from agentos.documents.verdict import parse_verdict, verdict_json
from agentos.errors import BadInput, ModelFormat
from agentos.providers import Completion
from agentos.task import State
from agentos.workflows.drafting.kind import Kind
from agentos.workflows.drafting.loop import (
    Ending,
    basis_of,
    end_of_review,
    end_of_validation,
    findings_of,
    follow,
    latest_review,
    to_mend,
)
from agentos.workflows.drafting.state import DraftingState, RoundState
from agentos.workflows.flow import Ask, Observe
from agentos.workflows.steps import Update
from agentos.workflows.verdicts import ask_for_verdict

DRAFT_LIMIT = 1_000_000


class Prompts(Protocol):
    """What the models of a workflow are told."""

    @property
    def template(self) -> str:
        """The form of the document."""

    def render(self, role: str, inputs: Mapping[str, str]) -> str:
        """Fill the prompt of a role."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the steps need from outside the state."""

    kind: Kind
    ask: Ask
    prompts: Prompts
    gather: Callable[[str], str]
    """Return what of the repository bears on a source."""
    check: Callable[[str, str, str], Sequence[Finding]]
    """Check a draft mechanically against its source, the previous draft and the repository."""
    max_rounds: int
    today: Callable[[], str]
    stamp: str
    observe: Observe


async def load(state: DraftingState, context: Context) -> Update:
    """Refuse a source that is no usable spec, and gather what the drafter has to know of the repository."""
    if defects := context.kind.find_defects(state["source"]):
        raise BadInput(f"Invalid spec format: {'; '.join(defects)}")
    return {"decision": "", "material": context.gather(state["source"])}


async def draft(state: DraftingState, context: Context) -> Update:
    """Have the document written, or revised by what was found in the last round."""
    rounds = state["rounds"]
    basis = basis_of(rounds)
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "template": context.prompts.template,
        # A checkpoint of an earlier version has none.
        "material": state.get("material", ""),
        "previous_draft": basis["draft"] if basis else "",
        "findings": _as_json(to_mend(rounds)) if rounds else "",
    }
    answer = await _ask(context, "draft", len(rounds) + 1, 1, inputs, schema="")
    text = context.kind.unwrap(answer.text).strip()
    if not text:
        raise ModelFormat("the drafter gave an empty answer; run again, or name another --drafter")
    if len(text) > DRAFT_LIMIT:
        raise ModelFormat(
            f"the drafter gave {len(text)} characters, the limit is {DRAFT_LIMIT}; name another --drafter"
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


async def validate(state: DraftingState, context: Context) -> Update:
    """Check the draft by machine, so that no reviewer is paid for what a rule can see."""
    *earlier, current = state["rounds"]
    basis = basis_of(earlier)
    findings = context.check(current["draft"], state["source"], basis["draft"] if basis else "")
    problems = [_as_data(finding) for finding in findings if blocks_approval(finding)]
    rounds = [*earlier, RoundState(**{**current, "problems": problems})]
    return {"rounds": rounds, **_ended(end_of_validation(rounds, context.max_rounds))}


async def review(state: DraftingState, context: Context) -> Update:
    """Have the draft judged by the reviewer, who sees the source, the draft and what was found in it before."""
    *earlier, current = state["rounds"]
    last = latest_review(earlier)
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "draft": current["draft"],
        "earlier_findings": _as_json(findings_of(last)) if last else "",
    }

    def ask(attempt: int, again: str) -> Awaitable[Completion]:
        return _ask(context, "review", len(state["rounds"]), attempt, inputs, schema="verdict", more=again)

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
    ending = end_of_review(verdict, rounds, context.max_rounds)
    return {"rounds": rounds, "calls": state["calls"] + asked, **_ended(ending)}


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


def _ended(ending: Ending) -> Update:
    return {"decision": str(ending.decision), "message": ending.message}


def _as_json(findings: Sequence[Finding]) -> str:
    return json.dumps([_as_data(finding) for finding in findings], ensure_ascii=False)


def _as_data(finding: Finding) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(finding).items()}


def _ask(
    context: Context, role: str, round: int, attempt: int, inputs: Mapping[str, str], schema: str, more: str = ""
) -> Awaitable[Completion]:
    kind = context.kind
    node = kind.nodes[1] if role == "draft" else kind.nodes[3]
    prompt = context.prompts.render(role, inputs) + more
    return context.ask(role=role, node=node, round=round, attempt=attempt, prompt=prompt, inputs=inputs, schema=schema)
