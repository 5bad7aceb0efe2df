"""Where items come from: the protocol `Inbox`, and a module for each kind of inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agentos.item import Item
from agentos.repository.forge import Author
from agentos.state.wording import count

MAX_NAMED = 20
"""Maximum number of issues that one line names."""
TRUSTED = "owner, member or collaborator"
"""The authors whose issues are items."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Something in an inbox that is not usable as an item, and why."""

    item: Item
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An issue that is no item because its author is not trusted."""

    item: Item
    author: Author

    def __str__(self) -> str:
        return f"#{self.item.id} by {self.author}"


@dataclass(frozen=True, slots=True)
class LeftOutComments:
    """Comments that are not read because their authors are not trusted."""

    item: Item
    """The item that they are on."""
    count: int


@dataclass(frozen=True, slots=True)
class Collected:
    """The contents of an inbox, ordered by id."""

    items: tuple[Item, ...]
    rejects: tuple[Reject, ...] = ()
    unready: tuple[Reject, ...] = ()
    """Items that are not ready: left out, and an error only if the user names them."""
    left_out: tuple[LeftOut, ...] = ()
    unread: tuple[LeftOutComments, ...] = ()

    def describe_left_out(self) -> str:
        """Return one line about the issues and comments that are left out, empty if there
        are none.
        """
        if not self.left_out and not self.unread:
            return ""
        comments = self._describe_unread()
        if not self.left_out:
            line = f"{comments} left out, not by an {TRUSTED}"
        else:
            listed = _enumerate(list(map(str, self.left_out)))
            line = (
                f"{count(len(self.left_out), 'issue')} left out, not by an {TRUSTED}:"
                f" {listed}"
            )
            if comments:
                line += f", and {comments}"
        return f"{line}; take them with --any-author"

    def _describe_unread(self) -> str:
        if not self.unread:
            return ""
        total = sum(each.count for each in self.unread)
        places = [f"#{each.item.id}" for each in self.unread]
        return f"{count(total, 'comment')} on {_enumerate(places)}"

    def left_out_as_json(self) -> list[dict[str, str]]:
        """Return the issues that are left out as JSON data."""
        rows = []
        for each in self.left_out:
            row = {
                "id": each.item.id,
                "source": each.item.source,
                "author": each.author.name,
                "role": each.author.role,
            }
            rows.append(row)
        return rows


def _enumerate(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    if more > 0:
        listed += f" and {more} more"
    return listed


class SourceState(StrEnum):
    """What a source knows about an item that was not collected."""

    OPEN = "open"
    DONE = "done"
    MISSING = "missing"
    UNASKED = "unasked"


LookUp = Callable[[Iterable[str]], Mapping[str, SourceState]]
"""Asks a source about items with these ids that were not collected."""


@dataclass(frozen=True, slots=True)
class Source:
    """The input of one item and its hash."""

    text: str
    digest: str
    """Empty if the input cannot be read."""
    problem: str = ""
    """Why the input cannot be used, and what to do about it."""
    title: str = ""
    """The title for a text that has none: the words in the name of its file."""


class Inbox(Protocol):
    """Lists items and reads their texts."""

    def collect(self) -> Collected:
        """List the items; read only what their ids need."""

    def load(self, item: Item) -> Source:
        """Return the item's input, even if it cannot be used."""

    def digest(self, item: Item) -> str:
        """Return the hash of the item's current input, empty if it cannot be read."""
