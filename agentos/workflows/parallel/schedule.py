"""Who may start next: items one after the other, or as a schedule of one's own says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Schedule(Protocol):
    """Decides which item starts next; asked and told by the coordinator's loop only, never by two threads."""

    def take(self) -> int | None:
        """Return the position of an item that may start now, each once; None when none may before another ends."""

    def end(self, position: int) -> None:
        """Take notice that an item has ended, well or not; not called for one that was interrupted."""

    def left(self) -> Sequence[int]:
        """Return the positions that were never taken."""


class InOrder:
    """Every item in its turn, nobody waits for anybody."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._next = 0

    def take(self) -> int | None:
        """Return the next position."""
        if self._next >= self._total:
            return None
        self._next += 1
        return self._next - 1

    def end(self, position: int) -> None:
        """Do nothing: no other item cares."""

    def left(self) -> Sequence[int]:
        """Return the rest."""
        return range(self._next, self._total)
