"""Turn an approved issue into what a tracker takes, and note in the issue where it was filed."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.documents.headings import plain, split_number
from agentos.documents.markdown import Kind, scan, sections, split_lines
from agentos.documents.review_log import LOG_TITLE

_FILED = "**Filed:**"
_NOTES = ("**Brief:**", "**Status:**", _FILED)
_OWN_COMMENTS = ("<!-- agentos:", "<!-- agentos-")


@dataclass(frozen=True, slots=True)
class Filable:
    """An issue as a tracker knows it."""

    title: str
    body: str


def split_issue(text: str) -> Filable:
    """Return title and body, without the notes below the title, the review log and our own comments.

    Numbers such as those of the reviews would become links to unrelated issues over there.
    """
    rows, lines = split_lines(text), scan(text)
    head = next((line.number for line in lines if line.kind is Kind.HEADING), 0)
    title = sections(lines)[0].title if head else ""
    end = min((part.line for part in sections(lines) if _is_log(part.level, part.title)), default=len(rows) + 1)
    begin = _end_of_notes(rows, head)
    code = {line.number for line in lines if line.kind in (Kind.CODE, Kind.FENCE)}
    kept = [
        row
        for number, row in enumerate(rows[begin : end - 1], begin + 1)
        if number in code or not row.strip().startswith(_OWN_COMMENTS)
    ]
    body = "\n".join(kept).strip().removesuffix("\n---").strip()
    return Filable(split_number(title)[0], f"{body}\n" if body else "")


def note_filing(text: str, reference: str) -> str:
    """Return the issue with a line below its title that says where it was filed; an earlier one is replaced."""
    rows = split_lines(text)
    head = next((line.number for line in scan(text) if line.kind is Kind.HEADING), 0)
    end = _end_of_notes(rows, head)
    notes = [row for row in rows[head:end] if row.strip() and not row.startswith(_FILED)]
    following = rows[end:]
    rest = ["", *following] if following and following[0].strip() else following
    return "\n".join([*rows[:head], "", *notes, f"{_FILED} {reference}", *rest])


def filed_as(text: str) -> str:
    """Return where the issue was filed, as `owner/name#42`, by the line below its title; empty when nowhere."""
    rows = split_lines(text)
    head = next((line.number for line in scan(text) if line.kind is Kind.HEADING), 0)
    for row in rows[head : _end_of_notes(rows, head)]:
        if row.startswith(_FILED):
            return row.removeprefix(_FILED).strip()
    return ""


def _end_of_notes(rows: list[str], head: int) -> int:
    """Return up to which row there are only notes below the title, 0 or the title's row when there are none."""
    end = head
    for number in range(head, len(rows)):
        if rows[number].startswith(_NOTES):
            end = number + 1
        elif rows[number].strip():
            break
    return end


def _is_log(level: int, title: str) -> bool:
    return level == 2 and plain(title) == plain(LOG_TITLE)
