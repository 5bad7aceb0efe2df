"""Prepare an approved issue for a tracker, and note in it where it was filed."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.documents.headings import plain, split_number
from agentos.documents.markdown import (
    LineKind,
    end_of_heading,
    scan,
    sections,
    split_lines,
)
from agentos.documents.review_log import LOG_TITLE

_FILED = "**Filed:**"
_NOTES = ("**Brief:**", "**Status:**", _FILED)
_OWN_COMMENTS = ("<!-- agentos:", "<!-- agentos-")


@dataclass(frozen=True, slots=True)
class TrackerIssue:
    """The title and body of an issue in a tracker."""

    title: str
    body: str


def split_issue(text: str) -> TrackerIssue:
    """Return title and body, without our notes, review log and comments.

    Numbers in them, such as those of reviews, would become links to unrelated issues of
    the tracker.
    """
    rows = split_lines(text)
    lines = scan(text)
    found = sections(lines)
    title = ""
    if found:
        title = found[0].title
    title, _ = split_number(title)
    end = len(rows)
    for section in found:
        if section.level == 2 and plain(section.title) == plain(LOG_TITLE):
            end = section.line - 1
            break
    kept = []
    head = end_of_heading(lines)
    for index in range(_end_of_notes(rows, head), end):
        row = rows[index]
        kind = lines[index].kind
        is_code = kind is LineKind.CODE or kind is LineKind.FENCE
        if is_code or not row.strip().startswith(_OWN_COMMENTS):
            kept.append(row)
    body = "\n".join(kept)
    body = body.strip()
    body = body.removesuffix("\n---")
    body = body.strip()
    if body:
        body += "\n"
    return TrackerIssue(title, body)


def note_filing(text: str, reference: str) -> str:
    """Return the issue with a line below its title that says where it was filed.

    It replaces an earlier such line.
    """
    rows = split_lines(text)
    lines = scan(text)
    head = end_of_heading(lines)
    end = _end_of_notes(rows, head)
    noted = rows[:head]
    noted.append("")
    for row in rows[head:end]:
        if row.strip() and not row.startswith(_FILED):
            noted.append(row)
    noted.append(f"{_FILED} {reference}")
    rest = rows[end:]
    if rest and rest[0].strip():
        noted.append("")
    return "\n".join(noted + rest)


def filed_as(text: str) -> str:
    """Return where the issue was filed, as `owner/name#42`, or an empty string."""
    rows = split_lines(text)
    lines = scan(text)
    head = end_of_heading(lines)
    end = _end_of_notes(rows, head)
    for row in rows[head:end]:
        if row.startswith(_FILED):
            reference = row.removeprefix(_FILED)
            return reference.strip()
    return ""


def _end_of_notes(rows: list[str], head: int) -> int:
    """Return the row after the notes below the title, `head` if there are none."""
    end = head
    for number in range(head, len(rows)):
        row = rows[number]
        if row.startswith(_NOTES):
            end = number + 1
        elif row.strip():
            break
    return end
