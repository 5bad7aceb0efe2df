"""Read the review log of a design: reviewers, findings and what became of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agentos.documents.headings import plain, split_label
from agentos.documents.markdown import Sections, prose_rows
from agentos.documents.tables import Cells, Table, tables

_NUMBER = re.compile(r"(?<![^\s#:])([0-9]{1,5})(?![^\s#:])")
_LABELS = ("reviewer", "timestamp", "date", "verdict", "final status")


@dataclass(frozen=True, slots=True)
class LoggedComment:
    """One comment of a review and what became of it."""

    id: str
    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class LoggedReview:
    """A review as the log records it."""

    number: int
    reviewer: str
    date: str
    verdict: str
    comments: tuple[LoggedComment, ...]
    summary: str
    line: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class ReviewLog:
    """All reviews, the rows of the summary table, and the final status."""

    reviews: tuple[LoggedReview, ...]
    summary: tuple[Cells, ...]
    final_status: str
    line: int = field(compare=False)


def read_log(parts: Sections) -> ReviewLog:
    """Read the log from its heading and the parts below it."""
    reviews = []
    summary: list[Cells] = []
    for group in _group(parts[1:]):
        title = group[0].title
        if _review_number(title):
            review = _read_review(group)
            reviews.append(review)
        elif not summary and plain(title) == "review summary":
            for table in _tables(group):
                summary.extend(table.rows)
    labels = _labels(parts)
    status = labels.get("final status", "")
    return ReviewLog(
        reviews=tuple(reviews),
        summary=tuple(summary),
        final_status=status,
        line=parts[0].line,
    )


def _group(parts: Sections) -> Iterator[Sections]:
    """Yield each heading together with the deeper headings below it."""
    start = 0
    for index, part in enumerate(parts):
        if part.level <= parts[start].level and index > start:
            yield parts[start:index]
            start = index
    if parts:
        yield parts[start:]


def _review_number(title: str) -> int:
    """Return the number of a heading such as `Gemini Review #2 (REVISE)`, or 0."""
    if "review" not in title.casefold():
        return 0
    found = _NUMBER.search(title[:200])
    if found is None:
        return 0
    return int(found[1])


def _read_review(parts: Sections) -> LoggedReview:
    title = parts[0].title
    verdict = ""
    if "(" in title:
        _, _, last = title.rpartition("(")
        verdict, _, _ = last.partition(")")
    labels = _labels(parts)
    date = labels.get("timestamp")
    if not date:
        date = labels.get("date", "")
    return LoggedReview(
        number=_review_number(title),
        reviewer=labels.get("reviewer", ""),
        date=date,
        verdict=labels.get("verdict") or verdict.strip(),
        comments=tuple(_comments(parts)),
        summary=" ".join(_unlabeled(parts)),
        line=parts[0].line,
    )


def _comments(parts: Sections) -> Iterator[LoggedComment]:
    for table in _tables(parts):
        if table.column("comment", "finding") is None:
            continue
        for row in table.rows:
            id = table.cell(row, "id", "#")
            text = table.cell(row, "comment", "finding")
            outcome = table.cell(row, "implemented", "resolved", "status")
            yield LoggedComment(id, text, outcome)


def _tables(parts: Sections) -> Iterator[Table]:
    for part in parts:
        yield from tables(part.body)


def _rows(parts: Sections) -> Iterator[str]:
    for part in parts:
        for rows in prose_rows(part.body).values():
            yield from rows


def _labels(parts: Sections) -> dict[str, str]:
    """Return the values of `**Label:** value` lines, the first of each label."""
    found: dict[str, str] = {}
    for row in _rows(parts):
        label, value = split_label(row)
        found.setdefault(label.casefold(), value)
    return found


def _unlabeled(parts: Sections) -> Iterator[str]:
    for row in _rows(parts):
        label, _ = split_label(row)
        if row and label.casefold() not in _LABELS:
            yield row
