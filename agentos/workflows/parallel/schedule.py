"""The order in which items start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Schedule(Protocol):
    """Decides which item starts next; only the coordinator's loop calls it, so it needs
    no lock.
    """

    def take(self) -> int | None:
        """Return the position of an item that may start now, each position once; None if
        another item has to end first.
        """

    def end(self, position: int) -> None:
        """Record that an item succeeded or failed; not called for an interrupted item."""

    def left(self) -> Sequence[int]:
        """Return the positions that were never taken."""


class InOrder:
    """Start all items in order, without dependencies."""

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
        """Do nothing: no item depends on another."""

    def left(self) -> Sequence[int]:
        """Return the positions that were never taken."""
        return range(self._next, self._total)
