"""Decide which item starts next: items start after their dependencies, and wait if
these were not approved.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from agentos.backlog.dependencies import Order, refer
from agentos.backlog.order import ReadyQueue
from agentos.item import Item, State
from agentos.repository.paths import document_path
from agentos.run.report.rows import (
    COMPLETE,
    LOCKED,
    NOT_STARTED,
    WAITING,
    ResultRow,
    ResultRows,
)

_SUCCESSFUL = (
    State.APPROVED,
    State.IMPLEMENTED,
    # A skeleton only needs the issue of another item, not its design.
    State.SKELETON,
    State.SIMULATED,
)
_REASONS = {
    State.FAILED: "failed",
    State.NEEDS_REVISION: "needs revision",
    State.NEEDS_DISCUSSION: "needs discussion",
    State.INTERRUPTED: "was interrupted",
    LOCKED: "another run holds",
    COMPLETE: "another run ended without approval",
}


class StartDelay:
    """The minimum number of seconds between two starts."""

    def __init__(self, seconds: float, stopping: threading.Event) -> None:
        self._seconds = seconds
        self._stopping = stopping
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> bool:
        """Wait until the next item may start; return False if the run is stopping."""
        if not self._seconds:
            return True
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._seconds
        return not self._stopping.wait(start - now)


class Schedule:
    """Hand out the items of a run in the order of their dependencies."""

    def __init__(
        self,
        items: Sequence[Item],
        order: Order,
        rows: ResultRows,
        repository: Path,
        tell: Callable[[str, str], None],
    ) -> None:
        self._items = items
        self._order = order
        self._rows = rows
        self._repository = repository
        self._tell = tell
        self._queue = ReadyQueue(len(items), order.needs, order.blocked, order.loose)

    def announce(self) -> None:
        """Report the items that cannot start at all."""
        self._report_blocked(sorted(self._queue.blocked))

    def take(self) -> int | None:
        """Return the next item that may start now, None if there is none."""
        return self._queue.take()

    def end(self, position: int) -> None:
        """Allow the items that waited for this one to start, or report that they
        cannot.
        """
        is_successful = self._is_successful(self._rows[position])
        blocked = self._queue.finish(position, is_successful=is_successful)
        self._report_blocked(blocked)

    def left(self) -> Sequence[int]:
        """Return the items that were never started."""
        return self._queue.left()

    def waiting(self) -> Iterator[tuple[int, ResultRow]]:
        """Yield a row for each item that could not start."""
        for position in self._queue.blocked:
            if self._rows[position].status == NOT_STARTED:
                reason = self._explain(position)
                row = ResultRow(self._items[position], WAITING, message=reason)
                yield position, row

    def _report_blocked(self, positions: Iterable[int]) -> None:
        for position in positions:
            reason = self._explain(position)
            self._tell(self._items[position].label, f"not started: {reason}")

    def _is_successful(self, row: ResultRow) -> bool:
        if row.status != COMPLETE:
            return row.status in _SUCCESSFUL
        path = document_path(row.item.kind, row.item.id)
        document = self._repository / path
        finished = document.parent.parent / "done" / document.name
        return document.exists() or finished.exists()

    def _explain(self, position: int) -> str:
        """Return why an item cannot start."""
        other = self._queue.blocked[position]
        if other is None:
            return self._order.blocked[position]
        name = refer(self._items[other].id)
        reason = _REASONS.get(self._rows[other].status, "waits itself")
        return f"waits for {name}, which {reason}"
