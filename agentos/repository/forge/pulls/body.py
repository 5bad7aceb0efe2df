"""Write the title and body of a pull request from reports that quote untrusted text.

GitHub acts on what it reads: it notifies the users that are named, closes issues, and
hides what follows a tag or a comment. So a zero-width space follows every character
that begins such a thing. That is done inside code too, as only GitHub knows what it
takes for code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.markdown import LineKind, scan, split_lines
from agentos.state.terminal_text import clean_text

_SEPARATOR = "\u200b"
_ACTIVE = re.compile(
    "@"  # A name.
    r"|#(?=\d)|(?i:gh)(?=\\?-)"  # An issue.
    # An address, possibly of an issue.
    r"|(?i:https?|ftp)(?=\\?:)|(?i:www)(?=\\?\.)"
    "|<(?=[!?/A-Za-z])"  # A tag, a comment.
    "|&(?=[#A-Za-z])"  # Any of these, written as an entity.
)
_OWN_COMMENTS = ("<!-- agentos:", "<!-- agentos-")


def neutralize(text: str) -> str:
    """Return a text that reads the same but triggers nothing on GitHub."""
    unix_lines = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = clean_text(unix_lines).decode()
    return _ACTIVE.sub(rf"\g<0>{_SEPARATOR}", plain)


def write_title(title: str, label: str, limit: int) -> str:
    """Return the design's title and number on one line, within the forge's limit."""
    one_line = " ".join(title.split())
    words = neutralize(one_line).strip()
    if not words:
        return label
    number = f" ({label})"
    room = limit - len(number)
    if len(words) > room:
        words = words[: room - 3] + "..."
    return words + number


def write_body(
    opening: str, reports: Sequence[str], where: str, forge: str, limit: int
) -> str:
    """Return the opening and the reports, cut at a heading with a note if they are too long.

    `where` names the place of the full reports, `forge` whose limit it is.
    """
    head = ""
    if opening:
        head = f"{opening}\n\n"
    text = "\n\n".join(map(_prepare, reports)) + "\n"
    if len(head) + len(text) <= limit:
        return head + text
    note = (
        f"\n---\n\n*Cut here, as {forge} takes {limit:,} characters. The whole is in"
        f" {where}.*\n"
    )
    room = limit - len(head) - len(note)
    return head + _cut(text, room) + note


def _prepare(report: str) -> str:
    rows = []
    for row in split_lines(report):
        if row.strip().startswith(_OWN_COMMENTS):
            continue
        rows.append(row)
    text = neutralize("\n".join(rows))
    return _without_open_fence(text.strip())


def _without_open_fence(text: str) -> str:
    """Make fences plain text if one is not closed, as it would swallow what follows."""
    if scan(f"{text}\n# end")[-1].kind is LineKind.HEADING:
        return text
    rows = []
    for line in scan(text):
        row = line.text
        if line.kind is LineKind.FENCE:
            row = _SEPARATOR + row
        rows.append(row)
    return "\n".join(rows)


def _cut(text: str, room: int) -> str:
    """Return the sections that fit, or the lines of the first section that fit."""
    last = 0
    for start in _section_starts(text):
        if start <= room:
            last = start
    if last:
        return text[:last]
    end = text.rfind("\n", 0, room) + 1
    if not end:
        end = room
    # Separators before the fences of a cut text take room as well.
    while True:
        cut = _without_open_fence(text[:end].strip()) + "\n"
        excess = len(cut) - room
        if excess <= 0:
            return cut
        if end <= 0:
            return cut
        end = max(0, end - excess)


def _section_starts(text: str) -> Iterator[int]:
    position = 0
    for row, line in zip(text.split("\n"), scan(text), strict=True):
        if line.kind is LineKind.HEADING and row.startswith("#"):
            yield position
        position += len(row) + 1
