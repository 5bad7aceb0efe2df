"""Run a function over many items on a limited number of threads; a failing item does not
affect the others.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from agentos.workflows.parallel.credential_coordinator import CredentialCoordinator, say
from agentos.workflows.parallel.lending import Credentials, Interrupted, Lender
from agentos.workflows.parallel.schedule import InOrder, Schedule

__all__ = ["Interrupted", "ParallelCoordinator", "ProgressStats", "WorkflowResult"]

Item = TypeVar("Item")

SHUTTING_DOWN = "Shutting down... waiting for workers to checkpoint"


@dataclass(frozen=True, slots=True)
class WorkflowResult:
    """The result of one item that ended."""

    item_id: str
    success: bool
    error: str | None = None
    duration: float = 0.0
    value: Any = None
    """The return value of the worker function."""


@dataclass(slots=True)
class ProgressStats:
    """The progress of a run; `completed` includes failed items."""

    total: int
    completed: int = 0
    failed: int = 0
    running: int = 0

    @property
    def success_count(self) -> int:
        """How many items succeeded."""
        return self.completed - self.failed


@dataclass(frozen=True, slots=True)
class _Finished:
    position: int
    result: WorkflowResult | None
    """None if the item was interrupted and will be resumed by a later run."""


@dataclass(frozen=True, slots=True)
class _SlotFree:
    position: int


@dataclass(frozen=True, slots=True)
class _Wake:
    """Wakes the main loop to check for a stop request."""


@dataclass(slots=True)
class _Run:
    """The state of one `execute_parallel` call."""

    name: Callable[[int], str]
    """Returns the id of the item at a position; ids are made on demand, as there may be
    thousands.
    """
    stats: ProgressStats
    messages: SimpleQueue[_Finished | _SlotFree | _Wake]
    """Belongs to this run only: a thread that an earlier run left behind must not send
    messages to it.
    """
    schedule: Schedule
    results: list[WorkflowResult] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    in_slots: set[int] = field(default_factory=set)
    """The running items that count toward `max_workers`."""
    interrupted: set[int] = field(default_factory=set)
    calls: SimpleQueue[Callable[[], None] | None] = field(default_factory=SimpleQueue)
    threads: int = 0
    stop_deadline: float | None = None

    def call(self, function: Callable[[], None]) -> None:
        """Call a function on an idle thread, or on a new one if all are busy; its item
        must already be among the running.
        """
        self.calls.put(function)
        if len(self.running) > self.threads:
            self.threads += 1
            threading.Thread(
                target=self._work, name=f"workflow-{self.threads}", daemon=True
            ).start()

    def dismiss(self) -> None:
        """End every idle thread."""
        for _ in range(self.threads):
            self.calls.put(None)

    def _work(self) -> None:
        while (function := self.calls.get()) is not None:
            function()

    def unfinished(self) -> list[str]:
        """Return the ids that did not end: first those begun, then those never started."""
        begun = sorted(self.running | self.interrupted)
        return [self.name(position) for position in (*begun, *self.schedule.left())]


class ParallelCoordinator:
    """Run a callable over items, `max_workers` at a time, each on a thread.

    The main loop owns all bookkeeping and reacts to messages; a worker thread only runs
    the callable and reports. So an item that raises, exits or hangs affects only itself.
    On shutdown no item starts, ended items are reported, and items that still run after
    `shutdown_grace` seconds are abandoned and listed as unfinished.
    """

    DEFAULT_PARALLELISM = 3
    MAX_PARALLELISM = 10

    def __init__(
        self,
        max_workers: int = DEFAULT_PARALLELISM,
        credential_coordinator: Credentials | None = None,
        *,
        announce: Callable[[str], None] = say,
        shutdown_grace: float = 4.0,
        handle_signals: bool = True,
        keep_results: bool = True,
        capacity: Callable[[int], int] | None = None,
        on_start: Callable[[ProgressStats], None] | None = None,
        on_result: Callable[[WorkflowResult, ProgressStats], None] | None = None,
        on_shutdown: Callable[[], None] | None = None,
    ) -> None:
        if (
            isinstance(max_workers, bool)
            or not isinstance(max_workers, int)
            or max_workers < 1
        ):
            raise ValueError(
                f"max_workers must be a whole number from 1 to {self.MAX_PARALLELISM},"
                f" not {max_workers!r}"
            )
        self._announce = announce
        if max_workers > self.MAX_PARALLELISM:
            announce(
                f"Warning: parallelism {max_workers} capped at {self.MAX_PARALLELISM}"
            )
        self.max_workers = min(max_workers, self.MAX_PARALLELISM)
        self._credentials = credential_coordinator
        if capacity is None and isinstance(
            credential_coordinator, CredentialCoordinator
        ):
            capacity = credential_coordinator.parallelism
        self._capacity = capacity
        self._grace = shutdown_grace
        self._handle_signals = handle_signals
        self._keep_results = keep_results
        self._on_start = on_start
        self._on_result = on_result
        self._on_shutdown = on_shutdown
        # A SimpleQueue may be put to from a signal handler; an Event or a Lock may not.
        self._messages: SimpleQueue[_Finished | _SlotFree | _Wake] = SimpleQueue()
        self._local = threading.local()
        self._shutdown_requests = 0
        self._is_draining = False
        self._lender = Lender(lambda: self.is_stopping)
        self._unfinished: list[str] = []

    @property
    def is_stopping(self) -> bool:
        """Whether no item is started anymore; a long worker function may check it."""
        return self._shutdown_requests > 0 or self._is_draining

    def execute_parallel(
        self,
        items: Sequence[Item],
        worker_func: Callable[[Item, str | None], Any],
        item_id_func: Callable[[Item], str] = str,
        dry_run: bool = False,
        *,
        schedule: Schedule | None = None,
    ) -> tuple[ProgressStats, list[WorkflowResult]]:
        """Run `worker_func(item, credential)` for every item; return the counts and the
        results of the ended items.

        A schedule chooses the next item and may hold some back; items that it never
        returns are unfinished.
        """
        self._messages = SimpleQueue()
        run = _Run(
            lambda position: item_id_func(items[position]),
            ProgressStats(total=len(items)),
            self._messages,
            schedule or InOrder(len(items)),
        )
        if dry_run:
            self._list_items(run)
            return run.stats, []
        try:
            with self._signals():
                self._loop(run, items, worker_func)
        finally:
            # Reset at the end and not at the start, or a signal that arrived just
            # before the start would be lost.
            self._shutdown_requests = 0
            self._is_draining = False
            run.dismiss()
            self._unfinished = run.unfinished()
        if run.stats.completed + len(self._unfinished) != run.stats.total:
            raise AssertionError(
                "every item ends once: finished and unfinished must add up"
            )
        return run.stats, run.results

    def request_shutdown(self) -> None:
        """Stop as Ctrl+C does: start no item and give running items the grace period. A
        second request ends it.
        """
        self._shutdown_requests += 1
        self._messages.put(_Wake())

    def drain(self) -> None:
        """Start no item but let the running items end."""
        self._is_draining = True
        self._messages.put(_Wake())

    def slot_release(self) -> Callable[[], None]:
        """Return a function that lets the next item start before the calling worker
        function returns.

        It may be called from any thread, and more than once.
        """
        run, position = self._local.place
        return lambda: run.messages.put(_SlotFree(position))

    def get_checkpoints(self) -> list[str]:
        """Return the ids of the last run's unfinished items, which a later run can
        resume.
        """
        return list(self._unfinished)

    def _handle_shutdown_signal(self, signum: int, frame: FrameType | None) -> None:
        del signum, frame
        self.request_shutdown()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while running; Python allows handlers only on the
        main thread.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if not self._handle_signals or not is_main:
            yield
            return
        previous = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, self._handle_shutdown_signal)
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _loop(
        self,
        run: _Run,
        items: Sequence[Item],
        worker_func: Callable[[Item, str | None], Any],
    ) -> None:
        while True:
            self._begin_shutdown_if_asked(run)
            while (
                self._may_start(run) and (position := run.schedule.take()) is not None
            ):
                self._start(run, position, items[position], worker_func)
            if not run.running:
                # The items that the schedule still holds back wait for others that will
                # not end.
                return
            if run.stop_deadline is not None and time.monotonic() >= run.stop_deadline:
                return
            self._take_message(run)

    def _may_start(self, run: _Run) -> bool:
        if self.is_stopping:
            return False
        limit = self.max_workers
        if self._capacity is not None:
            limit = min(limit, self._capacity(limit))
        return len(run.in_slots) < max(1, limit)

    def _start(
        self,
        run: _Run,
        position: int,
        item: Item,
        worker_func: Callable[[Item, str | None], Any],
    ) -> None:
        run.running.add(position)
        run.in_slots.add(position)
        run.stats.running = len(run.running)
        item_id = run.name(position)

        def work() -> None:
            self._local.place = run, position
            run.messages.put(
                _Finished(position, self._run_one(item_id, item, worker_func))
            )

        run.call(work)
        if self._on_start is not None:
            self._on_start(run.stats)

    def _take_message(self, run: _Run) -> None:
        # No message announces that resting keys are usable again, so check the capacity
        # every half second.
        wait = 0.5
        if run.stop_deadline is not None:
            wait = min(wait, max(0.0, run.stop_deadline - time.monotonic()))
        try:
            message = run.messages.get(timeout=wait)
        except Empty:
            return
        match message:
            case _SlotFree(position=position):
                run.in_slots.discard(position)
            case _Finished():
                self._record(run, message)

    def _record(self, run: _Run, message: _Finished) -> None:
        run.running.discard(message.position)
        run.in_slots.discard(message.position)
        run.stats.running = len(run.running)
        if message.result is None:
            run.interrupted.add(message.position)
            return
        if self._keep_results:
            run.results.append(message.result)
        run.stats.completed += 1
        run.stats.failed += not message.result.success
        run.schedule.end(message.position)
        if self._on_result is not None:
            self._on_result(message.result, run.stats)

    def _begin_shutdown_if_asked(self, run: _Run) -> None:
        if self._shutdown_requests == 0:
            return
        if run.stop_deadline is None:
            run.stop_deadline = time.monotonic() + self._grace
            self._announce(SHUTTING_DOWN)
            if self._credentials is not None:
                self._credentials.cancel_waiting()
            if self._on_shutdown is not None:
                self._on_shutdown()
        if self._shutdown_requests > 1:
            run.stop_deadline = time.monotonic()

    def _run_one(
        self, item_id: str, item: Item, worker_func: Callable[[Item, str | None], Any]
    ) -> WorkflowResult | None:
        started = time.monotonic()
        try:
            value = self._call(item, worker_func)
        except Interrupted:
            return None
        # Even SystemExit in a worker function must affect only its own item.
        except BaseException as error:
            text = str(error) or type(error).__name__
            return WorkflowResult(item_id, False, text, time.monotonic() - started)
        return WorkflowResult(item_id, True, None, time.monotonic() - started, value)

    def _call(self, item: Item, worker_func: Callable[[Item, str | None], Any]) -> Any:
        if self._credentials is None:
            return worker_func(item, None)
        return self._lender.lend(self._credentials, lambda key: worker_func(item, key))

    def _list_items(self, run: _Run) -> None:
        total = run.stats.total
        print(
            f"Dry run mode: {total} items would be processed, {self.max_workers} at a"
            " time, nothing was started"
        )
        for position in range(total):
            print(f"  {run.name(position)}")
