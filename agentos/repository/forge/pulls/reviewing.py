"""Take up what people said about an item's pull request, as a note for the models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentos.repository.forge import ForgeComment

LONGEST = 5_000
"""Maximum number of characters of one comment."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What was said since a commit, by those who may say it."""

    taken: tuple[ForgeComment, ...] = ()
    left_out: int = 0
    """Number of comments of authors who are not trusted."""

    def as_note(self, limit: int) -> tuple[str, int]:
        """Return the newest comments as one text of at most `limit` characters, and how
        many did not fit.
        """
        texts: list[str] = []
        length = len(_HEADING)
        for comment in reversed(self.taken):
            text = _render(comment)
            length += len(_BETWEEN)
            length += len(text)
            if length > limit:
                break
            texts.append(text)
        missing = len(self.taken) - len(texts)
        texts.append(_HEADING)
        texts.reverse()
        note = _BETWEEN.join(texts)
        return note, missing


_BETWEEN = "\n\n"
_HEADING = "The review of the pull request says:"


def find_remarks(
    comments: Iterable[ForgeComment], since: float, *, any_author: bool
) -> Remarks:
    """Return the comments since a time, of trusted people or of all people."""
    taken = []
    left_out = 0
    for comment in comments:
        author = comment.author
        if comment.is_ours or author.is_bot:
            continue
        if comment.written <= since:
            continue
        if any_author or author.is_trusted:
            taken.append(comment)
        else:
            left_out += 1
    return Remarks(tuple(taken), left_out)


def _render(comment: ForgeComment) -> str:
    said = f"- {comment.author}"
    if comment.place:
        place = " ".join(comment.place.split())
        said += f" about {place}"
    lines = [f"{said}:"]
    body = comment.body.strip()
    if len(body) > LONGEST:
        body = f"{body[:LONGEST]} [cut]"
    for row in body.splitlines():
        line = f"  {row}"
        lines.append(line.rstrip())
    return "\n".join(lines)
