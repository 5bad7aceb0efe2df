"""Write title and body of a pull request from reports that may quote anybody. Pure.

GitHub acts on what it reads: a name is notified, an issue that is closed "by the way" is closed, a tag or a comment can
hide what follows. So every mark that begins such a thing is parted from its rest by a space of no width, also inside
code, where it would do no harm, as what GitHub takes for code is its own affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.markdown import Kind, scan, split_lines
from agentos.untrusted import clean_text

BODY_LIMIT = 65_536
TITLE_LIMIT = 256

_APART = "\u200b"
_ACTIVE = re.compile(
    "@"  # A name.
    r"|#(?=\d)|(?i:gh)(?=\\?-)"  # An issue.
    r"|(?i:https?|ftp)(?=\\?:)|(?i:www)(?=\\?\.)"  # An address, which can be that of an issue.
    "|<(?=[!?/A-Za-z])"  # A tag, a comment.
    "|&(?=[#A-Za-z])"  # Any of these, written as an entity.
)
_OWN_COMMENTS = ("<!-- agentos:", "<!-- agentos-")


def neutralise(text: str) -> str:
    """Return a text that says the same to a reader and nothing to GitHub."""
    plain = clean_text(text.replace("\r\n", "\n").replace("\r", "\n")).decode()
    return _ACTIVE.sub(lambda mark: mark[0] + _APART, plain)


def write_title(title: str, label: str) -> str:
    """Return the design's title and number on one line, within GitHub's limit."""
    words = neutralise(" ".join(title.split())).strip()
    number = f" ({label})"
    room = TITLE_LIMIT - len(number)
    return (words if len(words) <= room else words[: room - 3] + "...") + number if words else label


def write_body(opening: str, reports: Sequence[str], where: str, limit: int = BODY_LIMIT) -> str:
    """Return our own opening and the reports below each other; what is too long is cut at a heading, and that is said.

    `where` names the place in which the reports are whole.
    """
    head = f"{opening}\n\n" if opening else ""
    text = "\n\n".join(_prepare(report) for report in reports) + "\n"
    if len(head) + len(text) <= limit:
        return head + text
    note = f"\n---\n\n*Cut here, as GitHub takes {limit:,} characters. The whole is in {where}.*\n"
    return head + _cut(text, limit - len(head) - len(note)) + note


def _prepare(report: str) -> str:
    rows = [row for row in split_lines(report) if not row.strip().startswith(_OWN_COMMENTS)]
    return _without_open_fence(neutralise("\n".join(rows)).strip())


def _without_open_fence(text: str) -> str:
    if scan(f"{text}\n# end")[-1].kind is Kind.HEADING:
        return text
    # A fence that nobody closes would swallow the next report, so here none is one.
    return "\n".join(f"{_APART}{line.text}" if line.kind is Kind.FENCE else line.text for line in scan(text))


def _cut(text: str, room: int) -> str:
    """Return as many whole sections as there is room for; of a first one that is too long, whole lines."""
    ends = [end for end in _section_starts(text) if 0 < end <= room]
    if ends:
        return text[: ends[-1]]
    end = text.rfind("\n", 0, room) + 1 or room
    # Parting the fences of what is cut open takes room of its own.
    while len(made := _without_open_fence(text[:end].strip()) + "\n") > room and end > 0:
        end = max(0, end - (len(made) - room))
    return made


def _section_starts(text: str) -> Iterator[int]:
    position = 0
    for row, line in zip(text.split("\n"), scan(text), strict=True):
        if line.kind is Kind.HEADING and row.startswith("#"):
            yield position
        position += len(row) + 1
