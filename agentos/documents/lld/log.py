"""Read the review log of a design: who reviewed it, what was found, what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agentos.documents.blocks import Grid, Part, Prose
from agentos.documents.headings import plain, split_label


@dataclass(frozen=True, slots=True)
class LoggedComment:
    """One comment of a review and what became of it."""

    id: str
    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class LoggedReview:
    """A review as the log tells of it."""

    number: int
    reviewer: str
    date: str
    verdict: str
    comments: tuple[LoggedComment, ...]
    summary: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ReviewLog:
    """All reviews, the rows of the summary table, and the status that the log ends with."""

    reviews: tuple[LoggedReview, ...]
    summary: tuple[tuple[str, ...], ...]
    final_status: str
    line: int = field(default=0, compare=False)


def read_log(parts: Sequence[Part]) -> ReviewLog:
    """Read the log from its heading and the parts below it."""
    groups: list[list[Part]] = []
    for part in parts[1:]:
        if groups and part.level > groups[-1][0].level:
            groups[-1].append(part)
        else:
            groups.append([part])
    reviews = [_read_review(group) for group in groups if _review_number(group[0].title)]
    summary = next((group for group in groups if plain(group[0].title) == "review summary"), [])
    rows = [row for grid in _grids(summary) for row in grid.rows]
    return ReviewLog(tuple(reviews), tuple(rows), _label(parts, "final status"), parts[0].line)


def _review_number(title: str) -> int:
    """Return the number of a heading such as `Gemini Review #2 (REVISE)`, or 0."""
    if "review" not in title.casefold():
        return 0
    for word in title[:200].replace("#", " ").replace(":", " ").split():
        if word.isdecimal() and word.isascii() and len(word) < 6:
            return int(word)
    return 0


def _read_review(parts: Sequence[Part]) -> LoggedReview:
    title = parts[0].title
    named = title.rpartition("(")[2].partition(")")[0].strip() if "(" in title else ""
    return LoggedReview(
        number=_review_number(title),
        reviewer=_label(parts, "reviewer"),
        date=_label(parts, "timestamp") or _label(parts, "date"),
        verdict=_label(parts, "verdict") or named,
        comments=tuple(_comments(parts)),
        summary=" ".join(_unlabelled(parts)),
        line=parts[0].line,
    )


def _comments(parts: Sequence[Part]) -> Iterable[LoggedComment]:
    for grid in _grids(parts):
        table = grid.table
        if table.column("comment", "finding") is None:
            continue
        for row in table.rows:
            text = table.cell(row, "comment", "finding")
            yield LoggedComment(table.cell(row, "id", "#"), text, table.cell(row, "implemented", "resolved", "status"))


def _grids(parts: Iterable[Part]) -> list[Grid]:
    return [block for part in parts for block in part.blocks if isinstance(block, Grid)]


def _rows(parts: Iterable[Part]) -> Iterable[str]:
    return (row for part in parts for block in part.blocks if isinstance(block, Prose) for row in block.lines)


def _label(parts: Iterable[Part], name: str) -> str:
    for row in _rows(parts):
        label, value = split_label(row)
        if label.casefold() == name:
            return value
    return ""


def _unlabelled(parts: Iterable[Part]) -> Iterable[str]:
    known = ("reviewer", "timestamp", "date", "verdict", "final status")
    return (row.strip() for row in _rows(parts) if split_label(row)[0].casefold() not in known and row.strip("-*_ "))
