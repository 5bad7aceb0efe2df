"""Write the review log of a document: one line a review, and one a finding.

The whole reviews and the life of every finding are in the document's lineage.
"""

from __future__ import annotations

from agentos.documents.findings import shorten
from agentos.documents.headings import plain
from agentos.documents.ledger import Ledger, LedgerEntry, ReviewRecord
from agentos.documents.markdown import (
    closing_fence,
    scan,
    scan_rows,
    sections,
    split_lines,
)
from agentos.documents.provenance import RECORDED, RECORDED_STATUS
from agentos.documents.verdict.model import Decision

LOG_TITLE = "Appendix: Review Log"
_LOG_TITLES = (plain(LOG_TITLE), "review log")
_LONGEST = 300


def finalize_document(
    text: str, *, item: str, status: str, ledger: Ledger, provenance: str
) -> str:
    """Return the document with its review log, its status and its provenance."""
    del item
    return append_log(text, status=status, ledger=ledger, provenance=provenance)


def append_log(text: str, *, status: str, ledger: Ledger, provenance: str) -> str:
    """Return the document with a new review log, its final status and its provenance.

    `provenance` is the last line, a comment, and may be empty.
    """
    body = _without_log(text, provenance).rstrip()
    # The rule was written above an earlier log.
    body = body.removesuffix("---").rstrip()
    parts = [body, "---", f"## {LOG_TITLE}"]
    reviews = [_render_review(review) for review in ledger.reviews]
    parts.append("\n".join(reviews) or "No review took place.")
    entries = [_render_entry(entry) for entry in ledger.entries]
    if entries:
        parts.append("\n".join(entries))
    readings = []
    for error in ledger.source_errors:
        quote = error.quote
        sentence = _line(error.sentence)
        reading = _line(error.reading)
        code = _line(quote.text).replace("`", "'")
        readings.append(
            f'- The source says "{sentence}", but {quote.path}:{quote.line} is `{code}`.'
            f" Followed: {reading}"
        )
    if readings:
        parts.append("\n".join(readings))
    parts.append(f"**Final Status:** {status}")
    if provenance:
        parts.append(" ".join(provenance.split()))
    return "\n\n".join(parts) + "\n"


def _without_log(text: str, provenance: str) -> str:
    """Cut earlier review logs and provenance lines, and close an open fence."""
    lines = scan(text)
    cut: set[int] = set()
    for section in sections(lines):
        if section.level == 2 and plain(section.title) in _LOG_TITLES:
            last = section.line + 1
            if section.whole:
                last = section.whole[-1].number
            cut.update(range(section.line, last + 1))
    # The first two words are the same in every version of the line.
    beginning = " ".join(provenance.split()[:2])
    rows = []
    for line, row in zip(lines, split_lines(text), strict=True):
        if line.number in cut:
            continue
        is_provenance = beginning and row.strip().startswith(beginning)
        if is_provenance and not line.is_code:
            continue
        rows.append(row)
    closing = closing_fence(scan_rows(rows))
    if closing:
        rows.append(closing)
    return "\n".join(rows)


def _render_review(review: ReviewRecord) -> str:
    decision = str(review.decision)
    if review.decision is Decision.APPROVED and review.by == RECORDED:
        # An approval from a recorded answer says so.
        decision = RECORDED_STATUS
    summary = _line(review.summary)
    return f"{review.number}. {decision} by {_line(review.by)}, {review.on}: {summary}"


def _render_entry(entry: LedgerEntry) -> str:
    place = f", {_line(entry.section)}" if entry.section else ""
    last = entry.changes[-1]
    because = ""
    if len(entry.changes) > 1 and last.reason:
        because = f" ({_line(last.reason)})"
    return f"- {entry.id} ({entry.tier}{place}) {entry.state}: {_line(entry.text)}{because}"


def _line(text: str) -> str:
    """Return a text on one line that cannot begin a comment."""
    return shorten(text, _LONGEST).replace("<!--", "&lt;!--")
