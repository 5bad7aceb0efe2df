"""Put the comments on an issue below its text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.answers import escape_rows
from agentos.documents.markdown import closing_fence, scan, split_lines

MOST_COMMENTS = 50
COMMENT_LIMIT = 10_000
"""Maximum number of characters of one comment."""
COMMENTS_LIMIT = 60_000
"""Maximum number of characters of all comments."""
HEADING = "## Comments"
NAME_LIMIT = 60
_NOT_IN_NAMES = re.compile(r"[^\w.\[\]-]+")


@dataclass(frozen=True, slots=True)
class Comment:
    """What somebody wrote below an issue."""

    author: str
    date: str
    text: str


def with_comments(source: str, comments: Sequence[Comment], unread: int = 0) -> str:
    """Return an issue with its comments, the oldest first, in a section at its end.

    If they are too many or too long, the newest are kept and the text says so; `unread`
    is the number of later ones that nobody has fetched.
    """
    if not comments and not unread:
        return source
    kept: list[str] = []
    room = COMMENTS_LIMIT
    newest = comments[-MOST_COMMENTS:]
    for comment in reversed(newest):
        rendered = _render(comment)
        room -= len(rendered)
        if room < 0:
            break
        kept.append(rendered)
    text = source.rstrip()
    closing = closing_fence(scan(source))
    if closing:
        text += f"\n{closing}"
    parts = [text, HEADING]
    missing = len(comments) - len(kept)
    if missing:
        parts.append(f"*{missing:,} earlier comments are left out.*")
    parts += reversed(kept)
    if unread:
        parts.append(f"*{unread:,} later comments are left out.*")
    return "\n\n".join(parts) + "\n"


def _render(comment: Comment) -> str:
    text = plain_text(comment.text)
    more = len(text) - COMMENT_LIMIT
    written = split_lines(text[:COMMENT_LIMIT])
    rows = escape_rows(written)
    if more > 0:
        rows.append("")
        rows.append(f"*{more:,} more characters are left out.*")
    author = plain_name(comment.author)
    body = "\n".join(rows)
    return f"**{author}** on {comment.date}:\n\n{body}"


def plain_text(text: str) -> str:
    """Return what somebody wrote with Unix line ends, as text that UTF-8 can hold."""
    plain = text.replace("\r\n", "\n")
    plain = plain.replace("\r", "\n")
    plain = plain.replace("\0", "")
    # JSON can contain lone surrogates, which UTF-8 cannot.
    data = plain.strip().encode("utf-8", "replace")
    return data.decode()


def plain_name(name: str) -> str:
    """Return a name as one short word without marks."""
    return _NOT_IN_NAMES.sub("-", name[:NAME_LIMIT])
