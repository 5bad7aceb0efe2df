"""The steps of a drafting kind; each takes the state and returns its changes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.judged_text import source_hash, stamp_text, text_hash
from agentos.documents.ledger import (
    WRITER,
    Contest,
    Ledger,
    ReviewRecord,
    Said,
    contest,
    decline,
    is_waived,
    keep_source_errors,
    ledger_from_data,
    open_binding_ids,
    record_review,
)
from agentos.documents.markdown import MAX_CHARACTERS, LineKind, scan
from agentos.documents.provenance import (
    APPROVED_STATUS,
    RECORDED,
    RECORDED_STATUS,
    RULES,
    SCRIPTED,
    SIMULATED,
    SIMULATED_STATUS,
    SKELETON_STATUS,
)
from agentos.documents.verdict import (
    Decision,
    Verdict,
    parse_verdict,
    verdict_json,
)
from agentos.documents.verdict.model import SourceError
from agentos.documents.writer_notes import WriterNotes, split_notes
from agentos.errors import ModelFormat
from agentos.gateway.providers import Completion, Message
from agentos.item import State
from agentos.plain_data import from_data, to_data
from agentos.repository.look import Looker, Snapshot, looks_in
from agentos.settings import RunConfig
from agentos.workflows.drafting.kind import DraftingKind
from agentos.workflows.drafting.loop import (
    LoopEnding,
    basis_of,
    end_of_repetition,
    end_of_review,
    end_of_validation,
    latest_review,
)
from agentos.workflows.drafting.memory import AS_IT_STANDS, Memory
from agentos.workflows.drafting.showing import (
    show_changes,
    show_earlier,
    show_hints,
    show_reasons,
)
from agentos.workflows.drafting.state import DraftingState, RoundState, new_round
from agentos.workflows.engine.flow import Ask, Observe
from agentos.workflows.engine.steps import Update
from agentos.workflows.looking import (
    Conversation,
    ask_looking,
    describe_looking,
    find_quote,
)
from agentos.workflows.prompts.overrides import Overrides
from agentos.workflows.verdicts import ask_for_verdict

_LINE = re.compile(r"^Line [0-9]+: ")
DRAFT_LIMIT = MAX_CHARACTERS
NO_MODEL = frozenset({RULES, SCRIPTED, SIMULATED})
"""Reviewers whose reviews decide nothing about a text."""
LONGEST_ANSWER = 2 * MAX_CHARACTERS
HOW_TO_WRITE = (
    "Answer with a block `look` to look at more, or with the whole document and nothing"
    " else, as asked above."
)


@dataclass(frozen=True, slots=True)
class DraftingContext:
    """What the steps need from outside the state."""

    kind: DraftingKind
    ask: Ask
    prompts: Overrides
    take_snapshot: Callable[[], Snapshot | None]
    """Record the repository as it is; None if no model is asked about it."""
    gather: Callable[[str, Snapshot], str]
    """Return the repository context of a source."""
    open_looker: Callable[[Snapshot], Looker | None]
    """Return what answers looks; None if nobody may look."""
    recall: Callable[[str], Memory]
    """Return what earlier runs left of the document."""
    check: Callable[[str, str, str], Sequence[Finding]]
    """Check a draft mechanically against its source, the previous draft and the
    repository.
    """
    config: RunConfig
    today: Callable[[], str]
    provenance: str
    observe: Observe


async def load(state: DraftingState, context: DraftingContext) -> Update:
    """Record the repository, and go on from what earlier runs left."""
    source = state["source"]
    memory = context.recall(source)
    snapshot = context.take_snapshot()
    rounds = []
    if memory.as_it_stands:
        rounds.append(new_round(memory.draft, AS_IT_STANDS))
        context.observe("noted", memory.as_it_stands)
    elif memory.draft:
        still = len(memory.ledger.open)
        context.observe(
            "noted", f"going on from the last draft, findings open: {still}"
        )
    material = ""
    if snapshot is not None:
        material = context.gather(source, snapshot)
    return {
        "decision": "",
        "material": material,
        "snapshot": to_data(snapshot) if snapshot else {},
        "ledger": to_data(memory.ledger),
        "earlier_draft": "" if memory.as_it_stands else memory.draft,
        "rounds": rounds,
    }


async def draft(state: DraftingState, context: DraftingContext) -> Update:
    """Have the document written, or revised to resolve the open findings."""
    rounds = state["rounds"]
    ledger = ledger_of(state)
    looker = _looker(state, context)
    previous = _basis_draft(state, rounds)
    told = ledger
    checked = rounds
    if not previous:
        # What reviews said of another text is no reason for this one.
        told = replace(ledger, reviews=())
    elif not rounds:
        # The last draft of an earlier run may never have come to a review.
        begun = new_round(previous, "")
        checked = [_check(begun, "", state, context)]
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "template": context.prompts.template,
        # A checkpoint of an earlier version has none.
        "material": state.get("material", ""),
        "looking": describe_looking("writer", looker),
        "previous_draft": previous,
        "findings": show_reasons(checked, told),
    }

    def ask(said: Sequence[Message]) -> Awaitable[Completion]:
        return _ask(context, "draft", len(rounds) + 1, 1, inputs, schema="", said=said)

    talk = await ask_looking(ask, _looks_of_writer, looker, HOW_TO_WRITE)
    _report_looks(context, "drafter", talk.looked)
    text, notes = _read_draft(talk, context)
    ledger, contests, declined = _apply_notes(ledger, notes, looker, context)
    new = new_round(text, talk.answer.model)
    new["looked"] = list(talk.looked)
    new["notes"] = [
        *notes.done,
        *(f"{one.id} contested: {one.reason}" for one in contests),
        *(f"{one.id} declined: {one.reason}" for one in declined),
    ]
    new["contests"] = len(contests)
    if not open_binding_ids(ledger):
        # The text may stay as it is if all that was found in it is declined.
        new["contests"] += len(declined)
    return {
        "rounds": [*rounds, new],
        "ledger": to_data(ledger),
        "calls": state["calls"] + len(talk.answers),
    }


def _looks_of_writer(answer: str) -> Sequence[str] | None:
    """Return the looks of an answer that is not a document."""
    if len(answer) > LONGEST_ANSWER:
        return None
    looks = looks_in(answer)
    if looks is None:
        return None
    for line in scan(answer):
        if line.kind is LineKind.HEADING:
            return None
    return looks


def _read_draft(
    talk: Conversation, context: DraftingContext
) -> tuple[str, WriterNotes]:
    """Return the document of an answer, and what its writer says beside it."""
    answer = talk.answer.text
    if _looks_of_writer(answer) is not None:
        raise ModelFormat(
            f"the drafter looked {talk.turns} times and wrote nothing; run again, or name"
            " another --drafter"
        )
    body, notes = split_notes(answer)
    text = context.kind.unwrap(body).strip()
    if not text:
        raise ModelFormat(
            "the drafter gave an empty answer; run again, or name another --drafter"
        )
    if len(text) > DRAFT_LIMIT:
        raise ModelFormat(
            f"the drafter gave {len(text)} characters, the limit is {DRAFT_LIMIT}; name"
            " another --drafter"
        )
    return text + "\n", notes


def _apply_notes(
    ledger: Ledger,
    notes: WriterNotes,
    looker: Looker | None,
    context: DraftingContext,
) -> tuple[Ledger, list[Contest], list[Contest]]:
    """Record what the writer contests and declines, and what it says is wrong in the
    source; only quoted lines that exist count.
    """
    said = Said(WRITER, context.today())
    contests = []
    declined = []
    for given in (*notes.contests, *notes.declined):
        entry = ledger.find(given.id)
        if entry is None or not entry.is_open:
            continue
        # What binds cannot be declined, only contested.
        if given in notes.declined and not blocks_approval(entry.finding):
            declined.append(given)
            ledger = decline(ledger, given.id, said, given.reason)
            continue
        quote = given.quote
        if quote is not None and looker is not None:
            quote = find_quote(quote, looker)
        contests.append(Contest(given.id, given.reason, quote))
    ledger = contest(ledger, contests, said)
    errors: list[SourceError] = []
    for error in notes.source_errors:
        found = find_quote(error.quote, looker) if looker else None
        if found is not None:
            errors.append(SourceError(error.sentence, found, error.reading))
    return keep_source_errors(ledger, errors), contests, declined


async def validate(state: DraftingState, context: DraftingContext) -> Update:
    """Check the draft mechanically, so that no reviewer is paid for what a rule can
    find.
    """
    *earlier, current = state["rounds"]
    checked = current
    # A skeleton is not sent back for its gaps: the rules' review lists them.
    if current["drafter"] != RULES:
        previous = _basis_draft(state, earlier)
        checked = _check(current, previous, state, context)
    rounds = [*earlier, checked]
    return {
        "rounds": rounds,
        **_ended(end_of_validation(rounds, context.config.max_rounds)),
    }


def _check(
    round: RoundState, previous: str, state: DraftingState, context: DraftingContext
) -> RoundState:
    """Return a round with what the mechanical check finds in its draft."""
    problems = []
    hints = []
    for finding in context.check(round["draft"], state["source"], previous):
        if blocks_approval(finding):
            problems.append(_as_data(finding))
        else:
            hints.append(_LINE.sub("", finding.text))
    return RoundState(**{**round, "problems": problems, "hints": hints})


async def review(state: DraftingState, context: DraftingContext) -> Update:
    """Have the draft reviewed; the reviewer sees the source, the draft, the repository
    and the earlier findings. A text that was judged before is not judged again.
    """
    *earlier, current = state["rounds"]
    ledger = ledger_of(state)
    text = text_hash(current["draft"])
    source = source_hash(state["source"])
    known = ledger.review_of(text, source)
    is_known = known is not None and known.by not in NO_MODEL
    if known is not None and is_known and not current.get("contests"):
        context.observe(
            "noted", f"unchanged since review {known.number}: not asked again"
        )
        if is_waived(ledger, known):
            waived = ", ".join(known.wanted)
            summary = f"approved with what a person has waived: {waived}"
            context.observe("noted", summary)
            known = replace(known, decision=Decision.APPROVED, summary=summary)
        judged = RoundState(
            **{
                **current,
                "verdict": verdict_json(_repeat(ledger, known)),
                "reviewer": known.by,
                "reviewed_on": known.on,
                "open": sorted(open_binding_ids(ledger)),
            }
        )
        rounds = [*earlier, judged]
        ending = end_of_review(known, rounds, ledger, context.config.max_rounds)
        if not ending.decision and current["drafter"] != AS_IT_STANDS:
            # A drafter that repeats a text would repeat it again, at the same price.
            ending = end_of_repetition(known)
        return {"rounds": rounds, **_ended(ending)}
    looker = _looker(state, context)
    last = latest_review(earlier)
    before = last["draft"] if last else ""
    if last is None and ledger.reviews:
        before = state.get("earlier_draft", "")
    inputs = {
        "item": state["item"],
        context.kind.source: state["source"],
        "material": state.get("material", ""),
        "looking": describe_looking("reviewer", looker),
        "draft": current["draft"],
        "earlier_findings": show_earlier(ledger, current.get("notes", ())),
        "changes": show_changes(before, current["draft"]),
        "hints": show_hints(current.get("hints", ())),
    }
    schema = "verdict"
    if context.prompts.uses("review", "looking"):
        schema = "look_or_verdict"

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        return _ask(
            context,
            "review",
            len(state["rounds"]),
            attempt,
            inputs,
            schema=schema,
            said=said,
        )

    judgment = await ask_for_verdict(ask, looker, ledger)
    _report_looks(context, "reviewer", judgment.looked)
    said = Said(judgment.answer.model, context.today())
    ledger, verdict = record_review(ledger, judgment.verdict, said, text, source)
    judged = RoundState(
        **{
            **current,
            "verdict": verdict_json(verdict),
            "answer": judgment.answer.text,
            "reviewer": said.by,
            "reviewed_on": said.on,
            "looked": [*current.get("looked", ()), *judgment.looked],
            "open": sorted(open_binding_ids(ledger)),
        }
    )
    rounds = [*earlier, judged]
    ending = end_of_review(
        ledger.reviews[-1], rounds, ledger, context.config.max_rounds
    )
    return {
        "rounds": rounds,
        "ledger": to_data(ledger),
        "calls": state["calls"] + len(judgment.answers),
        **_ended(ending),
    }


def _repeat(ledger: Ledger, known: ReviewRecord) -> Verdict:
    """Return the verdict on a text that was judged before, with what is open of it."""
    return Verdict(
        known.decision,
        known.summary,
        findings=tuple(entry.finding for entry in ledger.open),
        resolved_questions=known.resolved_questions,
        questions=ledger.questions,
        coverage=known.uncovered,
    )


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
        ledger=ledger_of(state),
        provenance=context.provenance,
    )
    return {"final": stamp_text(text)}


def ledger_of(state: DraftingState) -> Ledger:
    """Return the ledger; that of a checkpoint of an earlier version follows from its
    reviews.
    """
    stored = state.get("ledger")
    if stored is not None:
        return ledger_from_data(stored)
    ledger = Ledger()
    source = source_hash(state["source"])
    for round in state["rounds"]:
        if round["verdict"]:
            verdict = parse_verdict(round["verdict"])
            said = Said(round["reviewer"], round["reviewed_on"])
            text = text_hash(round["draft"])
            ledger, _ = record_review(ledger, verdict, said, text, source)
    return ledger


def _looker(state: DraftingState, context: DraftingContext) -> Looker | None:
    """Return what answers looks, None if nobody may look."""
    stored = state.get("snapshot")
    if not stored:
        return None
    return context.open_looker(from_data(Snapshot, stored))


def _report_looks(context: DraftingContext, role: str, looked: Sequence[str]) -> None:
    if looked:
        context.observe("looked", f"{role}: {'; '.join(looked)}")


def _basis_draft(state: DraftingState, rounds: Sequence[RoundState]) -> str:
    basis = basis_of(rounds)
    if basis is None:
        return state.get("earlier_draft", "")
    return basis["draft"]


def _ended(ending: LoopEnding) -> Update:
    return {"decision": str(ending.decision), "message": ending.message}


def _as_data(finding: Finding) -> dict[str, str]:
    data = {name: str(value) for name, value in asdict(finding).items()}
    return {name: data[name] for name in ("id", "tier", "category", "section", "text")}


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
