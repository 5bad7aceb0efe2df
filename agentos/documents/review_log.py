"""Write the review log of a document: one line a review, and one a finding.

The whole reviews and the life of every finding are in the document's lineage.
"""

from __future__ import annotations

from agentos.documents.findings import shorten
from agentos.documents.headings import plain
from agentos.documents.ledger import Ledger, LedgerEntry, ReviewRecord
from agentos.documents.markdown import (
    Lines,
    closing_fence,
    scan,
    scan_rows,
    sections,
    split_lines,
)
from agentos.documents.provenance import RECORDED, RECORDED_STATUS
from agentos.documents.verdict.model import Decision, SourceError

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
    body = _without_log(text, provenance)
    body = body.rstrip()
    # The rule was written above an earlier log.
    body = body.removesuffix("---")
    body = body.rstrip()
    heading = f"## {LOG_TITLE}"
    last = f"**Final Status:** {status}"
    log = _render_log(ledger)
    parts = [body, "---", heading, *log, last]
    if provenance:
        words = provenance.split()
        stamp = " ".join(words)
        parts.append(stamp)
    whole = "\n\n".join(parts)
    return f"{whole}\n"


def _render_log(ledger: Ledger) -> list[str]:
    """Return the lists of reviews, of findings and of errors in the source."""
    reviews = map(_render_review, ledger.reviews)
    entries = map(_render_entry, ledger.entries)
    errors = map(_render_source_error, ledger.source_errors)
    lists = [
        "\n".join(reviews) or "No review took place.",
        "\n".join(entries),
        "\n".join(errors),
    ]
    return list(filter(None, lists))


def _without_log(text: str, provenance: str) -> str:
    """Cut earlier review logs and provenance lines, and close an open fence."""
    lines = scan(text)
    cut = _log_lines(lines)
    # The first two words are the same in every version of the line.
    words = provenance.split()
    beginning = " ".join(words[:2])
    kept = []
    rows = split_lines(text)
    for line, row in zip(lines, rows, strict=True):
        if line.number in cut:
            continue
        if beginning and not line.is_code:
            shown = row.strip()
            if shown.startswith(beginning):
                continue
        kept.append(row)
    lines = scan_rows(kept)
    closing = closing_fence(lines)
    if closing:
        kept.append(closing)
    return "\n".join(kept)


def _log_lines(lines: Lines) -> set[int]:
    """Return the numbers of the lines of all review logs."""
    found: set[int] = set()
    for section in sections(lines):
        if section.level != 2:
            continue
        title = plain(section.title)
        if title not in _LOG_TITLES:
            continue
        # Without a line below it, a heading may still have an underline.
        first = section.line
        last = first + 1
        if section.whole:
            last_line = section.whole[-1]
            last = last_line.number
        numbers = range(first, last + 1)
        found.update(numbers)
    return found


def _render_review(review: ReviewRecord) -> str:
    decision = str(review.decision)
    is_approval = review.decision is Decision.APPROVED
    if is_approval and review.by == RECORDED:
        # An approval from a recorded answer says so.
        decision = RECORDED_STATUS
    by = _line(review.by)
    summary = _line(review.summary)
    if review.plan:
        summary = f"Test plan: {summary}"
    return f"{review.number}. {decision} by {by}, {review.on}: {summary}"


def _render_entry(entry: LedgerEntry) -> str:
    about = str(entry.tier)
    if entry.section:
        section = _line(entry.section)
        about += f", {section}"
    text = _line(entry.text)
    row = f"- {entry.id} ({about}) {entry.state}: {text}"
    # The first change is the review that found it, and needs no reason.
    later = entry.changes[1:]
    if not later:
        return row
    last = later[-1]
    if last.reason:
        reason = _line(last.reason)
        row += f" ({reason})"
    return row


def _render_source_error(error: SourceError) -> str:
    quote = error.quote
    sentence = _line(error.sentence)
    reading = _line(error.reading)
    # Without a repository to look at, nobody has checked what the reviewer quotes.
    path = _line(quote.path)
    place = f"{path}:{quote.line}"
    code = _line(quote.text)
    code = code.replace("`", "'")
    return (
        f'- The source says "{sentence}", but {place} is `{code}`. Followed: {reading}'
    )


def _line(text: str) -> str:
    """Return a text on one line that cannot begin a comment."""
    short = shorten(text, _LONGEST)
    return short.replace("<!--", "&lt;!--")
