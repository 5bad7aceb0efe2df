"""Have the test plan of a design reviewed before anything is built.

The review is part of the design's ledger, so a design that has not changed is reviewed
once, whoever runs it and wherever.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agentos.documents.answers import without_answers
from agentos.documents.findings import Finding, blocks_approval, on_one_line
from agentos.documents.judged_text import source_hash, text_hash, without_log
from agentos.documents.ledger import (
    Ledger,
    LedgerEntry,
    LedgerFile,
    ReviewRecord,
    Said,
    record_plan_review,
    settle_questions,
)
from agentos.documents.provenance import RECORDED
from agentos.documents.verdict import (
    Decision,
    Verdict,
    VerdictError,
    parse_verdict,
    verdict_json,
)
from agentos.gateway.providers import Completion, Message, gives_recorded, is_rules
from agentos.item import State
from agentos.kinds import Kind
from agentos.plain_data import to_data
from agentos.repository.look import Looker
from agentos.settings import RunConfig
from agentos.workflows.drafting.memory import ledger_hash, read_ledger
from agentos.workflows.drafting.nodes import NO_MODEL
from agentos.workflows.drafting.showing import show_changes, show_earlier
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import proving, revising
from agentos.workflows.implementation.blueprint import (
    Blueprint,
    find_plan_problems,
    read_blueprint,
)
from agentos.workflows.implementation.context import (
    PLAN,
    REVISE,
    TESTS,
    BuildContext,
    bill,
    question_to,
)
from agentos.workflows.implementation.state import ImplementationState, joined
from agentos.workflows.looking import describe_looking
from agentos.workflows.verdicts import Judgment, ask_for_verdict

_TEST_PLAN = re.compile(r"\s*(?:section\s*)?10(?![0-9])", re.IGNORECASE)
_UNDECIDED = (
    "`kept` does not say whether these scenarios are about what must not change (true"
    " if it holds before a line is written and must hold afterwards): {}"
)
_ABOUT_TESTS = re.compile(r"\b(?:tests?|scenarios?|assert\w*)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReviewedText:
    """The design whose test plan is reviewed."""

    design: str
    answers: str
    """What people answered to earlier questions about it, as Markdown."""

    @property
    def shown(self) -> str:
        """What the reviewer reads."""
        return without_log(self.design) + self.answers

    def find_review(self, ledger: Ledger) -> ReviewRecord | None:
        """Return the review of this very text with these very answers."""
        return ledger.plan_review_of(text_hash(self.design), source_hash(self.answers))


def reviewed_text(state: ImplementationState) -> ReviewedText:
    """Return the design as it stands, or its last revision."""
    design = without_answers(state["source"])
    answers = state["source"][len(design) :]
    rounds = revising.rounds_of(state)
    if rounds:
        design = rounds[-1]["draft"]
    return ReviewedText(design, answers)


async def review_plan(state: ImplementationState, context: BuildContext) -> Update:
    """Have the test plan reviewed before anything is built, unless this very text was
    reviewed before.
    """
    rounds = revising.rounds_of(state)
    text = reviewed_text(state)
    opened = _open_ledger(state, context, text)
    state = joined(state, opened)
    ledger = revising.ledger_of(state)
    known = text.find_review(ledger)
    if rounds and rounds[-1].get("contests"):
        # The reviewer has to decide what the writer contests.
        known = None
    if known is not None and counts(known, context.config):
        verdict = read_known(known)
        if verdict is not None:
            return {**opened, **await _repeat(state, context, known, verdict)}
    judgment = await _ask(state, context, text, ledger)
    verdict = judgment.verdict
    by = judgment.answer.model
    if by not in NO_MODEL:
        said = Said(by, _today())
        ledger, verdict = record_plan_review(
            ledger, verdict, said, text_hash(text.design), source_hash(text.answers)
        )
    update: Update = {
        **opened,
        "ledger": to_data(ledger),
        "plan": verdict_json(verdict),
        "plan_answer": judgment.answer.text,
        "reviewer": by,
        "findings": say_findings(verdict.findings),
        **bill(state, *judgment.answers),
    }
    state = joined(state, update)
    return {**update, **await _decide(state, context, verdict)}


def _open_ledger(
    state: ImplementationState, context: BuildContext, text: ReviewedText
) -> Update:
    """Return the design's ledger as it is when the item first needs it."""
    if state.get("ledger") is not None:
        return {}
    root = context.repository
    item = state["item"]
    stored = read_ledger(root, Kind.LLD, item)
    if stored is None:
        stored = LedgerFile(Ledger(), "")
    ledger = settle_questions(stored.ledger, text.answers)
    return {
        "ledger": to_data(ledger),
        "ledger_file": to_data(stored),
        "ledger_hash": ledger_hash(root, Kind.LLD, item),
    }


def counts(known: ReviewRecord, config: RunConfig) -> bool:
    """Tell whether an earlier review counts in this run: a recorded one only where
    recorded answers are asked for.
    """
    return known.by != RECORDED or gives_recorded(config.reviewer)


def read_known(known: ReviewRecord) -> Verdict | None:
    """Return the verdict of an earlier review, None if it cannot be read."""
    try:
        return parse_verdict(known.plan)
    except VerdictError:
        return None


def is_settled(known: ReviewRecord, verdict: Verdict, ledger: Ledger) -> bool:
    """Tell whether a person has settled what a review wanted revised: by signing this
    text after it, or by waiving each of its findings.
    """
    if ledger.is_signed_after(known):
        return True
    wanted = [one.id for one in verdict.findings if blocks_approval(one)]
    still_open = {entry.id for entry in ledger.open}
    return bool(wanted) and still_open.isdisjoint(wanted)


async def _repeat(
    state: ImplementationState,
    context: BuildContext,
    known: ReviewRecord,
    verdict: Verdict,
) -> Update:
    """Decide as an earlier review of this very text did."""
    context.observe(
        "noted",
        f"test plan: unchanged since review {known.number} of the design"
        f" ({known.decision}); not asked again",
    )
    ledger = revising.ledger_of(state)
    if verdict.decision is Decision.REVISE and is_settled(known, verdict, ledger):
        context.observe("noted", "test plan: a person has settled what it lacked")
        verdict = replace(verdict, decision=Decision.APPROVED)
    update: Update = {
        "plan": known.plan,
        "reviewer": known.by,
        "findings": say_findings(verdict.findings),
    }
    state = joined(state, update)
    return {**update, **await _decide(state, context, verdict)}


async def _ask(
    state: ImplementationState,
    context: BuildContext,
    text: ReviewedText,
    ledger: Ledger,
) -> Judgment:
    """Ask the reviewer, who may look at the repository that the item builds on."""
    rounds = revising.rounds_of(state)
    looker = _open_looker(context, state["item"])
    notes: Sequence[str] = ()
    before = ""
    if rounds:
        notes = rounds[-1].get("notes", ())
        before = revising.last_reviewed_plan(rounds)
    blueprint = _blueprint_of(state, text)
    planned = blueprint.kept
    inputs = {
        "item": state["item"],
        "design": text.shown,
        "material": state["material"],
        "suite": proving.describe_suite_before(state),
        "looking": describe_looking("reviewer", looker),
        "earlier_findings": show_earlier(ledger, notes),
        "changes": show_changes(before, text.design),
        "hints": "\n".join(find_plan_problems(blueprint)),
        "kept": "\n".join(map(_show_sound, planned.scenarios.items())),
    }
    number = max(1, len(rounds))

    def ask(attempt: int, said: Sequence[Message]) -> Awaitable[Completion]:
        return question_to(
            context,
            "review",
            PLAN,
            number,
            inputs,
            attempt=attempt,
            schema=schema,
        )(said)

    schema = "plan_verdict"
    if context.prompts.uses("review", "looking"):
        schema = "look_or_plan_verdict"

    def find_gap(verdict: Verdict) -> str:
        if verdict.decision is not Decision.APPROVED:
            return ""
        undecided = planned.find_undecided(one.scenario for one in verdict.kept)
        return _UNDECIDED.format("; ".join(undecided)) if undecided else ""

    judgment = await ask_for_verdict(ask, looker, ledger, find_gap)
    if judgment.looked:
        context.observe("looked", f"reviewer: {'; '.join(judgment.looked)}")
    return judgment


def _show_sound(scenario: tuple[str, str]) -> str:
    id, words = scenario
    return f"- {id}: {words}"


def _blueprint_of(state: ImplementationState, text: ReviewedText) -> Blueprint:
    return read_blueprint(text.design, state["item"], is_draft=True)


def _open_looker(context: BuildContext, item: str) -> Looker | None:
    # Rules and recorded answers do not look.
    if is_rules(context.config.reviewer) or gives_recorded(context.config.reviewer):
        return None
    return revising.open_looker(context, item)


async def _decide(
    state: ImplementationState, context: BuildContext, verdict: Verdict
) -> Update:
    """Decide what follows from a verdict: the tests, a revision or the end."""
    match verdict.decision:
        case Decision.APPROVED if revising.rounds_of(state):
            return await revising.approve(state, context)
        case Decision.APPROVED:
            found = plan_findings(revising.ledger_of(state))
            return {
                "plan_findings": found,
                "kept": [entry.scenario for entry in verdict.kept if entry.kept],
                "changed": [entry.scenario for entry in verdict.kept if not entry.kept],
            }
        case Decision.REVISE:
            return revising.begin_or_end(state, context, verdict)
    questions = list(verdict.questions) or [verdict.summary]
    return {
        "decision": str(State.NEEDS_DISCUSSION),
        "message": verdict.summary,
        "questions": questions,
    }


def plan_findings(ledger: Ledger) -> list[str]:
    """Return the open findings that whoever writes the tests has to know, a line each:
    those on the test plan, and those about tests.
    """
    of_plan = _found_in_plans(ledger)

    def is_wanted(entry: LedgerEntry) -> bool:
        return entry.id in of_plan or _is_about_tests(entry)

    wanted = filter(is_wanted, ledger.open)
    return say_findings(entry.finding for entry in wanted)


def _found_in_plans(ledger: Ledger) -> set[str]:
    """Return the ids of what the reviews of test plans found."""
    ids: set[str] = set()
    for review in ledger.reviews:
        if not review.plan:
            continue
        verdict = read_known(review)
        if verdict is not None:
            ids |= {finding.id for finding in verdict.findings}
    return ids


def _is_about_tests(entry: LedgerEntry) -> bool:
    if _TEST_PLAN.match(entry.section):
        return True
    return _ABOUT_TESTS.search(entry.text) is not None


def say_findings(findings: Iterable[Finding]) -> list[str]:
    """Return findings as lines, each with its id."""
    lines = []
    for finding in findings:
        about = str(finding.tier)
        if finding.section:
            about += f", section {finding.section}"
        text = on_one_line(finding.text)
        lines.append(f"{finding.id} ({about}): {text}")
    return lines


def after_review(state: ImplementationState) -> str:
    """Return the step that follows a review of the test plan; empty for the end."""
    if state["decision"]:
        return ""
    if revising.rounds_of(state):
        return REVISE
    return TESTS


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
