"""Show the models what earlier rounds said: reasons to the writer, findings and changes
to the reviewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.documents.findings import Basis, Finding, Quote
from agentos.documents.judged_text import without_log
from agentos.documents.ledger import (
    AGENTOS,
    PERSON,
    WRITER,
    Change,
    FindingState,
    Ledger,
    LedgerEntry,
    ReviewRecord,
)
from agentos.documents.verdict import CoverageRow, ResolvedQuestion, parse_verdict
from agentos.workflows.drafting.comparing import compare_documents
from agentos.workflows.drafting.loop import findings_of, latest_verdict
from agentos.workflows.drafting.state import RoundState

_MOST_DIFF_LINES = 4_000
_DECIDED = (
    "Waived by a person or withdrawn by a reviewer; raise none of them again, in other"
    " words neither, unless the document has changed there:"
)


def show_reasons(rounds: Sequence[RoundState], ledger: Ledger) -> str:
    """Return everything that the next draft has to resolve, and why; empty for a first
    draft.
    """
    parts: list[str] = []
    if rounds:
        current = rounds[-1]
        parts += _show_problems(current)
    uncovered: Sequence[CoverageRow] = ()
    resolved: Sequence[ResolvedQuestion] = ()
    if ledger.reviews:
        last = ledger.reviews[-1]
        review = _show_review(last)
        parts.append(review)
        uncovered = last.uncovered
        resolved = last.resolved_questions
    # A design is sent back for its test plan by a review that may be an earlier one.
    stored = latest_verdict(rounds)
    if stored:
        verdict = parse_verdict(stored)
        uncovered = verdict.uncovered
        resolved = verdict.resolved_questions
    parts += _show_open(ledger)
    parts += _show_uncovered(uncovered)
    parts += _show_resolved(resolved)
    parts += _show_source_errors(ledger)
    parts += _show_list(
        "Asked of a person, not answered yet; leave these points as they are:",
        ledger.questions,
    )
    return "\n\n".join(parts)


def _show_review(review: ReviewRecord) -> str:
    head = f"Review {review.number} ({review.decision})"
    if review.plan:
        head = f"Review {review.number}, of the test plan ({review.decision})"
    return f"{head}: {review.summary}"


def _show_list(title: str, texts: Iterable[str]) -> list[str]:
    """Return one part: a title and a list below it; no part for an empty list."""
    items = map(_show_item, texts)
    rows = list(items)
    return _show_rows(title, rows)


def _show_rows(title: str, rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    listed = "\n".join(rows)
    part = f"{title}\n{listed}"
    return [part]


def _show_item(text: str) -> str:
    return f"- {text}"


def _show_problems(round: RoundState) -> list[str]:
    """Return what the mechanical check refused in a round, reviewed or not."""
    unreviewed = round.copy()
    unreviewed["verdict"] = ""
    findings = findings_of(unreviewed)
    texts = map(_show_finding, findings)
    return _show_list("Refused by a mechanical check:", texts)


def _show_open(ledger: Ledger) -> list[str]:
    rows = []
    for entry in ledger.open:
        rows += _show_entry(entry)
    return _show_rows("Findings:", rows)


def _show_uncovered(rows: Iterable[CoverageRow]) -> list[str]:
    texts = []
    for row in rows:
        text = f"{row.requirement} ({row.text}): "
        if row.scenarios:
            cited = ", ".join(row.scenarios)
            text += cited
        else:
            text += "no scenario"
        texts.append(text)
    title = "Requirements that no scenario would catch if they were missing:"
    return _show_list(title, texts)


def _show_resolved(questions: Iterable[ResolvedQuestion]) -> list[str]:
    settled = []
    remembered = []
    for resolved in questions:
        answer = f"Answer: {resolved.answer}"
        text = f"{resolved.question} {answer}"
        if resolved.is_shown:
            settled.append(text)
        else:
            remembered.append(text)
    parts = _show_list(
        "Questions that the reviewer settled; carry the answers in:", settled
    )
    parts += _show_list(
        "Questions that the reviewer answers from memory; look the answer up, or leave"
        " the question open:",
        remembered,
    )
    return parts


def _show_source_errors(ledger: Ledger) -> list[str]:
    texts = []
    for error in ledger.source_errors:
        code = _show_quote(error.quote)
        wrong = f'"{error.sentence}": {code}'
        text = f"{wrong}; reading: {error.reading}"
        texts.append(text)
    title = "Wrong in the source about the code; follow the reading:"
    return _show_list(title, texts)


def _show_finding(finding: Finding) -> str:
    about = str(finding.tier)
    if finding.section:
        about += f", section {finding.section}"
    return f"{finding.id} ({about}): {finding.text}"


def _show_quote(quote: Quote) -> str:
    code = quote.text.strip()
    place = f"{quote.path}:{quote.line}"
    return f"{place} `{code}`"


def _show_entry(entry: LedgerEntry) -> list[str]:
    """Return a finding, the lines that it quotes, and what was said of it since."""
    finding = _show_finding(entry.finding)
    rows = [f"- {finding}"]
    for quote in entry.quotes:
        code = _show_quote(quote)
        rows.append(f"    {code}")
    if entry.basis not in (Basis.TEXT, Basis.CODE):
        rows.append(f"    basis: {entry.basis}")
    # The first change is the review that found it.
    later = entry.changes[1:]
    for change in later:
        row = _show_change(change)
        rows.append(f"    {row}")
    return rows


def _show_change(change: Change) -> str:
    who = _who(change.by)
    said = f"{change.state} by {who}"
    if change.reason:
        said += f": {change.reason}"
    return said


def _who(by: str) -> str:
    """Return the role that said something; names of models are those of reviewers."""
    if by == WRITER:
        return "the writer"
    if by.startswith(PERSON):
        return PERSON
    if by == AGENTOS:
        return AGENTOS
    return "the reviewer"


def show_earlier(ledger: Ledger, notes: Sequence[str]) -> str:
    """Return all findings with their states, for the reviewer; empty if there are
    none.
    """
    if not ledger.entries and not ledger.questions:
        return ""
    rows: list[str] = []
    decided: list[str] = []
    settled = []
    for entry in ledger.entries:
        if entry.is_open:
            rows += _show_entry(entry)
        elif _is_decided(entry):
            decided += _show_entry(entry)
        else:
            state = f"{entry.id} {entry.state}"
            settled.append(state)
    if rows:
        rows.insert(0, "State each of these in `earlier`:")
    if notes:
        rows.append("The writer says:")
        rows += map(_show_item, notes)
    if decided:
        rows.append(_DECIDED)
        rows += decided
    if settled:
        listed = ", ".join(settled)
        rows.append(f"Settled before, their ids are taken: {listed}")
    if ledger.questions:
        rows.append(
            "Asked of a person already; they wait for an answer, whatever you decide:"
        )
        rows += [f"- {question}" for question in ledger.questions]
    return "\n".join(rows)


def _is_decided(entry: LedgerEntry) -> bool:
    """Tell whether a finding does not count, though the text may still be as it was."""
    if entry.state is FindingState.WAIVED:
        return True
    is_withdrawn = entry.state is FindingState.WITHDRAWN
    return is_withdrawn and entry.changes[-1].by != AGENTOS


def show_changes(before: str, after: str) -> str:
    """Return what a revision changed, as a diff; empty if nothing was reviewed before."""
    if not before:
        return ""
    before = without_log(before)
    after = without_log(after)
    longest = max(before.count("\n"), after.count("\n"))
    if longest >= _MOST_DIFF_LINES:
        return "The document is too long to be compared: read it whole."
    changes = compare_documents(before, after)
    return changes or "Nothing was changed."


def show_hints(hints: Sequence[str]) -> str:
    """Return what the mechanical check asks the reviewer to look at."""
    rows = map(_show_item, hints)
    return "\n".join(rows)
