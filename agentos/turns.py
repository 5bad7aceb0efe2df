"""Whose turn it is in a batch: items start after those that they depend on, or wait when these were not approved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agentos.places import document_path
from agentos.plan.dependence import Order, refer
from agentos.plan.order import ReadyQueue
from agentos.report.entries import COMPLETE, HELD, NOT_STARTED, WAITING, Entries, Entry
from agentos.task import State, Task

_TROUBLES = {
    State.FAILED: "failed",
    State.NEEDS_REVISION: "needs revision",
    State.NEEDS_DISCUSSION: "needs discussion",
    State.INTERRUPTED: "was interrupted",
    HELD: "another run holds",
    COMPLETE: "another run ended without approval",
}


class Distance:
    """The wished seconds between two starts."""

    def __init__(self, seconds: float, stopping: threading.Event) -> None:
        self._seconds = seconds
        self._stopping = stopping
        self._next = 0.0
        self._lock = threading.Lock()

    def keep(self) -> bool:
        """Wait until one more may start; tell whether it still may then."""
        if not self._seconds:
            return True
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._seconds
        return not self._stopping.wait(turn - now)


class Turns:
    """The schedule of a batch by the dependencies of its items."""

    def __init__(
        self,
        tasks: Sequence[Task],
        order: Order,
        entries: Entries,
        repository: Path,
        tell: Callable[[str, str], None],
    ) -> None:
        self._tasks = tasks
        self._order = order
        self._entries = entries
        self._repository = repository
        self._tell = tell
        self._queue = ReadyQueue(len(tasks), order.needs, order.held, order.loose)

    def announce(self) -> None:
        """Say which items cannot start from the beginning."""
        for position in sorted(self._queue.held):
            self._tell(self._tasks[position].label, f"not started: {self._explain(position)}")

    def take(self) -> int | None:
        """Return the next item that may start, None when none may at present."""
        return self._queue.take()

    def end(self, position: int) -> None:
        """Let the items start that waited for this one, or say that they go on waiting."""
        held = self._queue.finish(position, is_fulfilled=self._is_fulfilled(self._entries[position]))
        for follower in held:
            self._tell(self._tasks[follower].label, f"not started: {self._explain(follower)}")

    def left(self) -> Sequence[int]:
        """Return the items that were never started."""
        return self._queue.left()

    def waiting(self) -> Iterator[tuple[int, Entry]]:
        """Give an entry for each item that was held back."""
        for position in self._queue.held:
            if self._entries[position].status == NOT_STARTED:
                yield position, Entry(self._tasks[position], WAITING, message=self._explain(position))

    def _is_fulfilled(self, entry: Entry) -> bool:
        if entry.status != COMPLETE:
            return entry.status in (State.APPROVED, State.IMPLEMENTED)
        document = self._repository / document_path(entry.task.workflow, entry.task.item)
        return document.exists() or (document.parent.parent / "done" / document.name).exists()

    def _explain(self, position: int) -> str:
        other = self._queue.held[position]
        if other is None:
            return self._order.held[position]
        name = refer(self._tasks[other].item)
        status = self._entries[other].status
        return f"waits for {name}, which {_TROUBLES.get(status, 'waits itself')}"
