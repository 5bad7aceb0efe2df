"""Record what was asked about an item: an intent before the forge is asked, the comment
afterwards, and the replies that were taken as answers.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.item import Item
from agentos.repository.forge import QUESTIONS_MARK
from agentos.repository.forge.filing.record import write_durably
from agentos.state.files import read_regular

SCHEMA = 1
LIMIT = 1_000_000
MARKER_LENGTH = 16
"""Minimum length of a marker that nobody can guess."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions that are being asked or were asked in a comment."""

    repository: str
    """Where, as `owner/name`."""
    number: int
    """The issue that they are about."""
    marker: str
    """Random text in the comment, to find it again if the response is lost."""
    content: str
    """Hash of the questions."""
    sent: float = 0.0
    """Time of the last attempt, by our own clock."""
    comment: int = 0
    """The id of the comment, 0 while it is unknown."""
    url: str = ""
    taken: tuple[int, ...] = ()
    """Ids of all replies that were taken as answers, to earlier questions too."""
    schema: int = SCHEMA

    @property
    def mark(self) -> str:
        """The marker as an HTML comment."""
        return f"{QUESTIONS_MARK} {self.marker} {self.content[:16]} -->"


def asked_path(home: Path, repository: str, item: Item) -> Path:
    """Return the path of what was asked about an item."""
    return home / "questions" / repository / f"{item.kind}_{item.id}.json"


def read_asked(path: Path) -> Asked | None:
    """Return what was asked, None if nothing was; a file that is not valid raises
    `BadInput`, as the questions may be there.
    """
    if not os.path.lexists(path):
        return None
    try:
        data = json.loads(read_regular(path, LIMIT))
        data["taken"] = tuple(map(int, data["taken"]))
        asked = Asked(**data)
        for number in (asked.number, asked.comment):
            if not isinstance(number, int):
                raise ValueError
        for text in (asked.repository, asked.marker, asked.content, asked.url):
            if not isinstance(text, str):
                raise ValueError
        if len(asked.marker) < MARKER_LENGTH:
            raise ValueError
        float(asked.sent)
    except (ValueError, TypeError, KeyError):
        raise BadInput(
            f"{path}: cannot be understood; remove it if the questions are not asked yet"
        ) from None
    return asked


def read_taken(path: Path) -> frozenset[int]:
    """Return the ids of comments that were taken as answers: they are no part of the
    issue's text.
    """
    try:
        asked = read_asked(path)
    except BadInput:
        return frozenset()
    if asked is None:
        return frozenset()
    return frozenset(asked.taken)


def write_asked(path: Path, asked: Asked) -> None:
    """Write it durably; the caller holds the item's lock."""
    text = json.dumps(asdict(asked), indent=1)
    write_durably(path, text.encode())
