"""Run a function over many items on threads: bounded, isolated from each other, stoppable."""

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
    """What became of one item that ran to its end."""

    item_id: str
    success: bool
    error: str | None = None
    duration: float = 0.0
    value: Any = None
    """What the worker function returned."""


@dataclass(slots=True)
class ProgressStats:
    """How far a run is. `completed` counts what ended either way."""

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
    """None when the item was interrupted and will be taken up again."""


@dataclass(frozen=True, slots=True)
class _SlotFree:
    position: int


@dataclass(frozen=True, slots=True)
class _Wake:
    """Something changed that the main loop has to look at."""


@dataclass(slots=True)
class _Run:
    """The moving parts of one `execute_parallel`."""

    name: Callable[[int], str]
    """Gives the id of the item at a position; of thousands, each is made when it is needed."""
    stats: ProgressStats
    messages: SimpleQueue[_Finished | _SlotFree | _Wake]
    """Of this run alone: a thread that an earlier run left behind must not speak into it."""
    schedule: Schedule
    results: list[WorkflowResult] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    in_slots: set[int] = field(default_factory=set)
    """Those of the running that hold a place of the limited number."""
    interrupted: set[int] = field(default_factory=set)
    jobs: SimpleQueue[Callable[[], None] | None] = field(default_factory=SimpleQueue)
    threads: int = 0
    stop_deadline: float | None = None

    def do(self, job: Callable[[], None]) -> None:
        """Have a thread do a job that counts among the running: one that has ended its last, or else a new one."""
        self.jobs.put(job)
        if len(self.running) > self.threads:
            self.threads += 1
            threading.Thread(target=self._work, name=f"workflow-{self.threads}", daemon=True).start()

    def dismiss(self) -> None:
        """Let every thread end that has no job."""
        for _ in range(self.threads):
            self.jobs.put(None)

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job()

    def unfinished(self) -> list[str]:
        """Return the ids that did not end: those begun, then those never started."""
        begun = sorted(self.running | self.interrupted)
        return [self.name(position) for position in (*begun, *self.schedule.left())]


class ParallelCoordinator:
    """Run a callable over items, `max_workers` at a time, each on a thread.

    The main loop owns all bookkeeping and reacts to messages; a worker thread only runs the callable and reports.
    So an item that raises, exits or hangs costs itself only. On shutdown nothing new starts, what ended is
    reported, and what still runs after `shutdown_grace` seconds is left behind and listed as unfinished.
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
        if isinstance(max_workers, bool) or not isinstance(max_workers, int) or max_workers < 1:
            raise ValueError(
                f"max_workers must be a whole number from 1 to {self.MAX_PARALLELISM}, not {max_workers!r}"
            )
        self._announce = announce
        if max_workers > self.MAX_PARALLELISM:
            announce(f"Warning: parallelism {max_workers} capped at {self.MAX_PARALLELISM}")
        self.max_workers = min(max_workers, self.MAX_PARALLELISM)
        self._credentials = credential_coordinator
        if capacity is None and isinstance(credential_coordinator, CredentialCoordinator):
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
        self._here = threading.local()
        self._shutdown_requests = 0
        self._is_draining = False
        self._lender = Lender(lambda: self.is_stopping)
        self._unfinished: list[str] = []

    @property
    def is_stopping(self) -> bool:
        """Whether nothing new is started any more; a long worker function may look at it."""
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
        """Run `worker_func(item, credential)` for every item; return the counts and the result of each that ended.

        A schedule says which item is next and may keep some back; those that it never gives are unfinished.
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
            # Reset at the end and not at the start, or a signal that came just before would be forgotten.
            self._shutdown_requests, self._is_draining = 0, False
            run.dismiss()
            self._unfinished = run.unfinished()
        if run.stats.completed + len(self._unfinished) != run.stats.total:
            raise AssertionError("every item ends once: finished and unfinished must add up")
        return run.stats, run.results

    def request_shutdown(self) -> None:
        """Stop as Ctrl+C does: start nothing new, give the running ones their grace. Twice: do not wait at all."""
        self._shutdown_requests += 1
        self._messages.put(_Wake())

    def drain(self) -> None:
        """Start nothing new but let the running items end."""
        self._is_draining = True
        self._messages.put(_Wake())

    def slot_release(self) -> Callable[[], None]:
        """Return what lets the next item start although the worker function that asks for it has some finishing to do.

        It may be called from any thread, and more than once.
        """
        run, position = self._here.place
        return lambda: run.messages.put(_SlotFree(position))

    def get_checkpoints(self) -> list[str]:
        """Return the ids of the last run that did not end, to be taken up again later."""
        return list(self._unfinished)

    def _handle_shutdown_signal(self, signum: int, frame: FrameType | None) -> None:
        del signum, frame
        self.request_shutdown()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Hold SIGINT and SIGTERM while running; off the main thread Python allows no handlers."""
        if not self._handle_signals or threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = {s: signal.signal(s, self._handle_shutdown_signal) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _loop(self, run: _Run, items: Sequence[Item], worker_func: Callable[[Item, str | None], Any]) -> None:
        while True:
            self._begin_shutdown_if_asked(run)
            while self._may_start(run) and (position := run.schedule.take()) is not None:
                self._start(run, position, items[position], worker_func)
            if not run.running:
                # Whatever still waits, waits for something that will not come.
                return
            if run.stop_deadline is not None and time.monotonic() >= run.stop_deadline:
                return
            self._take_message(run)

    def _may_start(self, run: _Run) -> bool:
        if self.is_stopping:
            return False
        limit = self.max_workers if self._capacity is None else min(self.max_workers, self._capacity(self.max_workers))
        return len(run.in_slots) < max(1, limit)

    def _start(self, run: _Run, position: int, item: Item, worker_func: Callable[[Item, str | None], Any]) -> None:
        run.running.add(position)
        run.in_slots.add(position)
        run.stats.running = len(run.running)
        item_id = run.name(position)

        def work() -> None:
            self._here.place = run, position
            run.messages.put(_Finished(position, self._run_one(item_id, item, worker_func)))

        run.do(work)
        if self._on_start is not None:
            self._on_start(run.stats)

    def _take_message(self, run: _Run) -> None:
        # With a reduced capacity no message announces that keys came back, hence the look every half second.
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
        # The one broad except: even SystemExit in a worker function may cost only its own item.
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
        print(f"Dry run mode: {total} items would be processed, {self.max_workers} at a time, nothing was started")
        for position in range(total):
            print(f"  {run.name(position)}")
