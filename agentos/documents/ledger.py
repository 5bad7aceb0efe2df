"""The ledger of a document: every finding with its life, and every review of a text.

A finding keeps its id for ever, and an id is never given twice. Its state changes only
by what a reviewer, the writer or a person says; silence changes nothing. All functions
return a new ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

from agentos.documents.answers import show_question
from agentos.documents.findings import (
    Basis,
    Category,
    Finding,
    Quote,
    Tier,
    blocks_approval,
)
from agentos.documents.strict_json import load_strict
from agentos.documents.verdict.model import (
    CoverageRow,
    Decision,
    EarlierState,
    ResolvedQuestion,
    SourceError,
    Verdict,
)
from agentos.documents.verdict.schema import verdict_json
from agentos.plain_data import from_data, to_data

SCHEMA = 1
MOST_CONTESTS = 2
"""If a finding binds that its writer has contested so often, a person decides."""
WRITER = "writer"
PERSON = "a person"
"""Begins the name of a person who says something."""
AGENTOS = "AgentOS"
"""Says what follows from something else, such as an edit of the source."""
_TIERS = tuple(Tier)
"""The most severe first."""
_BASES = (Basis.CODE, Basis.TEXT, Basis.PLATFORM, Basis.MEMORY)
"""What can be shown best comes first."""


class FindingState(StrEnum):
    """What has become of a finding."""

    OPEN = "open"
    RESOLVED = "resolved"
    CONTESTED = "contested"
    WITHDRAWN = "withdrawn"
    WAIVED = "waived"


_ADDED_TO_REVIEWS: dict[str, Any] = {
    "plan": "",
    "wanted": [],
    "uncovered": [],
    "resolved_questions": [],
}
"""Fields of a review that are missing in older files."""
UNSETTLED = frozenset({FindingState.OPEN, FindingState.CONTESTED})
_STATES = {
    EarlierState.OPEN: FindingState.OPEN,
    EarlierState.RESOLVED: FindingState.RESOLVED,
    EarlierState.WITHDRAWN: FindingState.WITHDRAWN,
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a finding's state: who said so, when and why."""

    state: FindingState
    by: str
    on: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A finding and its life."""

    id: str
    tier: Tier
    category: Category
    section: str
    text: str
    basis: Basis
    quotes: tuple[Quote, ...]
    changes: tuple[Change, ...]
    """The first one is the review that found it."""

    @property
    def state(self) -> FindingState:
        """The state now."""
        return self.changes[-1].state

    @property
    def is_open(self) -> bool:
        """Whether it is neither settled nor waived."""
        return self.state in UNSETTLED

    @property
    def is_binding(self) -> bool:
        """Whether it is open and must be resolved before an approval."""
        return self.is_open and self.tier is Tier.BLOCKING

    @property
    def finding(self) -> Finding:
        """The finding without its life."""
        return Finding(
            self.id,
            self.tier,
            self.category,
            self.section,
            self.text,
            self.basis,
            self.quotes,
        )

    def times(self, state: FindingState) -> int:
        """Return how often it came into a state."""
        states = [change.state for change in self.changes]
        return states.count(state)


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """A review: which text was judged, and how."""

    number: int
    text: str
    """Hash of the judged text."""
    source: str
    """Hash of the source with its answers, against which it was judged."""
    decision: Decision
    summary: str
    by: str
    on: str
    questions: tuple[str, ...] = ()
    plan: str = ""
    """The whole verdict as JSON if the review was of the test plan; empty for a review
    of the document.
    """
    wanted: tuple[str, ...] = ()
    """The ids of the findings that held up an approval after it."""
    uncovered: tuple[CoverageRow, ...] = ()
    """The requirements that it found without a test."""
    resolved_questions: tuple[ResolvedQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """All findings and reviews of one document."""

    entries: tuple[LedgerEntry, ...] = ()
    reviews: tuple[ReviewRecord, ...] = ()
    questions: tuple[str, ...] = ()
    """Questions that still wait for a person."""
    source_errors: tuple[SourceError, ...] = ()
    """What the source says wrongly about the code; the work goes on with a reading, and
    a person is asked whether it is right.
    """
    last: int = 0
    """The highest number that an id had."""
    answered_errors: tuple[SourceError, ...] = ()
    """Those of which a person has said whether the reading is right."""

    @property
    def open(self) -> tuple[LedgerEntry, ...]:
        """The findings that are open or contested, the most severe first."""
        entries = [entry for entry in self.entries if entry.is_open]
        entries.sort(key=lambda entry: _TIERS.index(entry.tier))
        return tuple(entries)

    def find(self, id: str) -> LedgerEntry | None:
        """Return the entry with an id."""
        for entry in self.entries:
            if entry.id == id:
                return entry
        return None

    def review_of(self, text: str, source: str) -> ReviewRecord | None:
        """Return the last review of this very text against this very source."""
        for review in reversed(self.reviews):
            is_same = review.text == text and review.source == source
            if is_same and not review.plan:
                return review
        return None

    def plan_review_of(self, text: str, answers: str) -> ReviewRecord | None:
        """Return the last review of the test plan of this very text, with these very
        answers of people.
        """
        for review in reversed(self.reviews):
            is_same = review.text == text and review.source == answers
            if is_same and review.plan:
                return review
        return None

    def is_signed_after(self, review: ReviewRecord) -> bool:
        """Tell whether a person approved the text of a review after it."""
        later = self.reviews[review.number :]
        for signature in later:
            if not signature.by.startswith(PERSON):
                continue
            if signature.text == review.text:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Said:
    """Who says something, and when."""

    by: str
    on: str


@dataclass(frozen=True, slots=True)
class Contest:
    """The writer says that a finding is wrong, and shows why."""

    id: str
    reason: str
    quote: Quote | None = None


def record_review(
    ledger: Ledger, verdict: Verdict, said: Said, text: str, source: str
) -> tuple[Ledger, Verdict]:
    """Record a review of a text; return its verdict with the lasting ids.

    `text` and `source` are hashes of what was judged, and against what.
    """
    contested = _find_contested_again(ledger)
    ledger, verdict = _record_findings(ledger, verdict, said)
    ledger = _add_review(ledger, verdict, said, text, source)
    ledger = _ask(ledger, verdict)
    ledger = _ask_who_is_right(ledger, contested, said)
    return ledger, verdict


def record_plan_review(
    ledger: Ledger, verdict: Verdict, said: Said, text: str, answers: str
) -> tuple[Ledger, Verdict]:
    """Record a review of the test plan of a text; return its verdict with the lasting
    ids.

    Its questions are asked about the implementation and do not hold up the document.
    """
    ledger, verdict = _record_findings(ledger, verdict, said)
    plan = verdict_json(verdict)
    ledger = _add_review(ledger, verdict, said, text, answers, plan)
    return ledger, verdict


def _add_review(
    ledger: Ledger,
    verdict: Verdict,
    said: Said,
    text: str,
    source: str,
    plan: str = "",
) -> Ledger:
    review = ReviewRecord(
        number=len(ledger.reviews) + 1,
        text=text,
        source=source,
        decision=verdict.decision,
        summary=verdict.summary,
        by=said.by,
        on=said.on,
        questions=verdict.questions,
        plan=plan,
        wanted=tuple(sorted(open_binding_ids(ledger))),
        uncovered=verdict.uncovered,
        resolved_questions=verdict.resolved_questions,
    )
    reviews = (*ledger.reviews, review)
    return replace(ledger, reviews=reviews)


def _record_findings(
    ledger: Ledger, verdict: Verdict, said: Said
) -> tuple[Ledger, Verdict]:
    """Record the new findings and what became of the earlier ones."""
    for earlier in verdict.earlier:
        ledger = _set_state(
            ledger,
            earlier.id,
            _STATES[earlier.state],
            said,
            earlier.reason,
        )
    known = _index_repeatable(ledger, verdict)
    findings = []
    for finding in verdict.findings:
        entry = known.pop(_place_and_words(finding), None)
        if entry is None or _outweighs_waiver(finding, entry):
            ledger, id = _open(ledger, finding, said)
        else:
            id = entry.id
            ledger = _find_again(ledger, id, finding, said)
        finding = replace(finding, id=id)
        findings.append(finding)
    verdict = replace(verdict, findings=tuple(findings))
    return ledger, verdict


def _index_repeatable(
    ledger: Ledger, verdict: Verdict
) -> dict[tuple[str, str], LedgerEntry]:
    """Return the entries that a finding may repeat, by place and words: all but those
    that the verdict settles, the open ones first.

    Only the same words about the same place count. Distinct defects may differ in one
    word or number, and a finding that is taken for another one is lost.
    """
    settled = set()
    for earlier in verdict.earlier:
        if earlier.state is not EarlierState.OPEN:
            settled.add(earlier.id)
    known: dict[tuple[str, str], LedgerEntry] = {}
    for entry in ledger.entries:
        if entry.id in settled:
            continue
        said = _place_and_words(entry.finding)
        if entry.is_open or said not in known:
            known[said] = entry
    return known


def _place_and_words(finding: Finding) -> tuple[str, str]:
    place = _flat(finding.section)
    # `Row` and `row` may be two things.
    words = finding.text.split()
    return place, " ".join(words)


def _outweighs_waiver(finding: Finding, entry: LedgerEntry) -> bool:
    """Tell whether a finding is more severe than what a person has waived."""
    if entry.state is not FindingState.WAIVED:
        return False
    found = _TIERS.index(finding.tier)
    waived = _TIERS.index(entry.tier)
    return found < waived


def _find_again(ledger: Ledger, id: str, finding: Finding, said: Said) -> Ledger:
    """Record that a review repeats a finding; it gets the higher tier of the two, the
    better basis, and the quotes of both.
    """

    def strengthen(entry: LedgerEntry) -> LedgerEntry:
        if entry.state is FindingState.WAIVED:
            return entry
        tier = min(entry.tier, finding.tier, key=_TIERS.index)
        basis = min(entry.basis, finding.basis, key=_BASES.index)
        both = (*entry.quotes, *finding.quotes)
        quotes = tuple(dict.fromkeys(both))
        return replace(
            entry,
            tier=tier,
            basis=basis,
            quotes=quotes,
        )

    ledger = _change(ledger, id, strengthen)
    reason = f"found again, as {finding.tier}"
    return _set_state(ledger, id, FindingState.OPEN, said, reason)


def _open(ledger: Ledger, finding: Finding, said: Said) -> tuple[Ledger, str]:
    """Add a finding under an id of its own."""
    last = ledger.last + 1
    id = f"F{last}"
    entry = LedgerEntry(
        id,
        finding.tier,
        finding.category,
        finding.section,
        finding.text,
        finding.basis,
        finding.quotes,
        (Change(FindingState.OPEN, said.by, said.on),),
    )
    entries = (*ledger.entries, entry)
    return replace(ledger, entries=entries, last=last), id


def _set_state(
    ledger: Ledger, id: str, state: FindingState, said: Said, reason: str
) -> Ledger:
    """Change the state of a finding; what a person waived stays waived."""

    def change(entry: LedgerEntry) -> LedgerEntry:
        is_waived = entry.state is FindingState.WAIVED
        if is_waived or (entry.state is state and not reason):
            return entry
        made = Change(state, said.by, said.on, reason)
        changes = (*entry.changes, made)
        return replace(entry, changes=changes)

    return _change(ledger, id, change)


def _change(
    ledger: Ledger, id: str, change: Callable[[LedgerEntry], LedgerEntry]
) -> Ledger:
    entries = []
    for entry in ledger.entries:
        if entry.id == id:
            entry = change(entry)
        entries.append(entry)
    return replace(ledger, entries=tuple(entries))


def _ask(ledger: Ledger, verdict: Verdict) -> Ledger:
    """Keep the questions for a person, without those that the review has settled."""
    settled = set()
    for resolved in verdict.resolved_questions:
        if resolved.is_shown:
            settled.add(_flat(resolved.question))
    kept: dict[str, None] = {}
    for question in (*ledger.questions, *verdict.questions):
        if _flat(question) not in settled:
            kept[question] = None
    ledger = replace(ledger, questions=tuple(kept))
    return keep_source_errors(ledger, verdict.source_errors)


def keep_source_errors(ledger: Ledger, errors: Iterable[SourceError]) -> Ledger:
    """Keep what the source says wrongly about the code, each sentence once; what a
    person has answered is not asked again.
    """
    kept = list(ledger.source_errors)
    for error in errors:
        known = (*kept, *ledger.answered_errors)
        is_same = partial(_is_same_error, error)
        if not any(map(is_same, known)):
            kept.append(error)
    return replace(ledger, source_errors=tuple(kept))


def _is_same_error(one: SourceError, other: SourceError) -> bool:
    """Tell whether two errors are about the same sentence, or about parts of it because
    of the same line.
    """
    sentence = _flat(one.sentence)
    other_sentence = _flat(other.sentence)
    if sentence == other_sentence:
        return True
    if _flat(one.quote.text) != _flat(other.quote.text):
        return False
    return sentence in other_sentence or other_sentence in sentence


def _flat(text: str) -> str:
    words = text.casefold().split()
    return " ".join(words)


def say_source_error(error: SourceError) -> str:
    """Return the question that a wrong sentence of the source puts to a person."""
    quote = error.quote
    line = quote.text.strip()
    reading = error.reading.strip().rstrip(".")
    return (
        f'The source says "{error.sentence}", but {quote.path}:{quote.line} is'
        f" `{line}`. The document follows this reading: {reading}. Is that right?"
    )


def questions_for_person(ledger: Ledger, otherwise: str = "") -> tuple[str, ...]:
    """Return what a person is asked: the questions of the reviews, or else `otherwise`,
    and whether the readings are right.
    """
    questions = ledger.questions
    if otherwise and not questions:
        questions = (otherwise,)
    readings = map(say_source_error, ledger.source_errors)
    return (*questions, *readings)


def contest(ledger: Ledger, contests: Iterable[Contest], said: Said) -> Ledger:
    """Record what the writer contests, for the next review to decide."""
    for dispute in contests:
        entry = ledger.find(dispute.id)
        if entry is None or not entry.is_open:
            continue
        reason = dispute.reason
        if dispute.quote is not None:
            quote = dispute.quote
            reason = f"{quote.path}:{quote.line} `{quote.text.strip()}`: {reason}"
        ledger = _set_state(
            ledger,
            dispute.id,
            FindingState.CONTESTED,
            said,
            reason or "no reason given",
        )
    return ledger


def _find_contested_again(ledger: Ledger) -> list[LedgerEntry]:
    """Return what the writer contests now, and has contested before."""
    found = []
    for entry in ledger.entries:
        if entry.state is not FindingState.CONTESTED:
            continue
        if entry.times(FindingState.CONTESTED) >= MOST_CONTESTS:
            found.append(entry)
    return found


def _ask_who_is_right(
    ledger: Ledger, contested: Iterable[LedgerEntry], said: Said
) -> Ledger:
    """Ask a person about what was contested again, if it still holds up an approval
    after the review.
    """
    binding = open_binding_ids(ledger)
    asked = Said(AGENTOS, said.on)
    for entry in contested:
        if entry.id not in binding:
            continue
        reason = entry.changes[-1].reason
        question = (
            f"{_begin_dispute(entry.id)}{entry.text} The writer says: {reason} Who is"
            " right?"
        )
        questions = dict.fromkeys((*ledger.questions, question))
        ledger = replace(ledger, questions=tuple(questions))
        # Still contested, it would be asked about after every review.
        ledger = _set_state(
            ledger,
            entry.id,
            FindingState.OPEN,
            asked,
            "a person is asked who is right",
        )
    return ledger


def decline(ledger: Ledger, id: str, said: Said, reason: str) -> Ledger:
    """Record that the writer does not follow a suggestion; it stays open and holds up
    nothing.
    """
    reason = reason or "no reason given"
    return _set_state(ledger, id, FindingState.OPEN, said, f"declined: {reason}")


def _begin_dispute(id: str) -> str:
    return f"{id}: the reviewer says: "


def waive(ledger: Ledger, id: str, said: Said, reason: str) -> Ledger:
    """Record that a person accepts the document with this finding; who is right about
    it is no question any more.
    """
    dispute = _begin_dispute(id)
    kept = [text for text in ledger.questions if not text.startswith(dispute)]
    ledger = replace(ledger, questions=tuple(kept))
    return _set_state(ledger, id, FindingState.WAIVED, said, reason)


def is_waived(ledger: Ledger, review: ReviewRecord) -> bool:
    """Tell whether a review wanted nothing but what a person has waived since."""
    if review.decision is not Decision.REVISE or review.uncovered:
        return False
    for id in review.wanted:
        entry = ledger.find(id)
        if entry is None or entry.state is not FindingState.WAIVED:
            return False
    return bool(review.wanted) and not open_binding_ids(ledger)


def withdraw_open(ledger: Ledger, said: Said, reason: str) -> Ledger:
    """Withdraw every open finding, for a document that is begun anew."""
    for entry in ledger.open:
        ledger = _set_state(ledger, entry.id, FindingState.WITHDRAWN, said, reason)
    return ledger


def settle_questions(ledger: Ledger, answers: str) -> Ledger:
    """Drop the questions that a person has answered: they stand among the answers."""
    flat = _flat(answers)

    def is_waiting(question: str) -> bool:
        return _flat(show_question(question)) not in flat

    waiting = filter(is_waiting, ledger.questions)
    asked = []
    answered = list(ledger.answered_errors)
    for error in ledger.source_errors:
        question = say_source_error(error)
        if is_waiting(question):
            asked.append(error)
        else:
            answered.append(error)
    return replace(
        ledger,
        questions=tuple(waiting),
        source_errors=tuple(asked),
        answered_errors=tuple(answered),
    )


def drop_questions(ledger: Ledger) -> Ledger:
    """Drop all questions, for a document that is begun anew."""
    return replace(ledger, questions=(), source_errors=(), answered_errors=())


def find_silence(ledger: Ledger, verdict: Verdict) -> str:
    """Return what an approval leaves unsaid, empty if it may count.

    Nothing is resolved by silence: an approval states what became of every blocking
    finding.
    """
    if verdict.decision is not Decision.APPROVED:
        return ""
    states = {earlier.id: earlier.state for earlier in verdict.earlier}
    for entry in ledger.entries:
        if not entry.is_binding:
            continue
        state = states.get(entry.id)
        if state is None:
            return f"it approves and does not say what became of {entry.id}"
        if state is EarlierState.OPEN:
            return f"it approves with the blocking finding {entry.id} open"
    return ""


def open_binding_ids(ledger: Ledger) -> set[str]:
    """Return the ids of the open findings that hold up an approval."""
    return {entry.id for entry in ledger.open if blocks_approval(entry.finding)}


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """A ledger as it is kept with a document's lineage."""

    ledger: Ledger
    source: str
    """Hash of the source without its answers."""
    draft: str = ""
    """Name of the draft beside it with which the next run goes on; empty for a finished
    document.
    """

    def to_json(self) -> str:
        """Return the file's text, for people and programs."""
        data = {"schema": SCHEMA, **to_data(self)}
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def read_ledger_file(text: str) -> LedgerFile:
    """Read the text of a ledger file, or raise `ValueError`."""
    data = load_strict(text)
    if not isinstance(data, dict) or data.pop("schema", None) != SCHEMA:
        raise ValueError("not a ledger of findings of this version")
    return ledger_file_from_data(data)


def ledger_file_from_data(data: dict[str, Any]) -> LedgerFile:
    """Return the ledger file of its JSON data, or raise `ValueError`."""
    ledger = data.get("ledger")
    if isinstance(ledger, dict):
        ledger = _with_added_fields(ledger)
        data = {**data, "ledger": ledger}
    return from_data(LedgerFile, data)


def ledger_from_data(data: dict[str, Any]) -> Ledger:
    """Return the ledger of its JSON data, or raise `ValueError`."""
    data = _with_added_fields(data)
    return from_data(Ledger, data)


def _with_added_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a ledger with what an earlier version did not write."""
    reviews = data.get("reviews")
    if not isinstance(reviews, list):
        return data
    whole = []
    for review in reviews:
        if isinstance(review, dict):
            review = {**_ADDED_TO_REVIEWS, **review}
        whole.append(review)
    return {"answered_errors": [], **data, "reviews": whole}
