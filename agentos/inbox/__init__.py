"""Where work waits: one Protocol, one module for each kind of inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agentos.task import Task


@dataclass(frozen=True, slots=True)
class Reject:
    """Something in an inbox that cannot be an item, and why."""

    task: Task
    reason: str


@dataclass(frozen=True, slots=True)
class Collected:
    """What an inbox holds, in the order of the ids."""

    tasks: tuple[Task, ...]
    rejects: tuple[Reject, ...] = ()
    unready: tuple[Reject, ...] = ()
    """What is no work yet: left alone, and refused only when somebody names it."""


class Whereabouts(StrEnum):
    """What a source says about an item that is named and was not collected."""

    OPEN = "open"
    DONE = "done"
    MISSING = "missing"
    UNASKED = "unasked"


LookUp = Callable[[Iterable[str]], Mapping[str, Whereabouts]]
"""Asks a source that is not collected whole about the items with these ids."""


@dataclass(frozen=True, slots=True)
class Source:
    """The input of one item and the hash it is known by."""

    text: str
    digest: str
    """Empty when the input cannot even be read."""
    problem: str = ""
    """What is wrong with an input that cannot be used, and what to do about it."""


class Inbox(Protocol):
    """A place that lists its items and gives the text of each."""

    def collect(self) -> Collected:
        """List the items without reading more of them than their names need."""

    def load(self, task: Task) -> Source:
        """Return the item's input, also one that cannot be used."""

    def digest(self, task: Task) -> str:
        """Return the hash of the item's present input, empty when it cannot be read."""
