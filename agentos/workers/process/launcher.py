"""Run each assignment in its own process, forked from a server that has imported
everything.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agentos.gateway.journal import item_key
from agentos.gateway.server import Gateway
from agentos.item import Item
from agentos.kinds import Kind
from agentos.state.home import Home
from agentos.state.locks import ItemLock
from agentos.state.redaction import redact
from agentos.state.scratch import Scratch
from agentos.workers import Event, Exit, Output
from agentos.workers.process.channel import Message
from agentos.workers.process.conversation import Conversation
from agentos.workers.process.fork_server import (
    Ended,
    ForkServer,
    ForkServerDied,
    Worker,
)
from agentos.workers.process.messages import read_report
from agentos.workers.process.pacing import Pace
from agentos.workers.process.pipes import PipeReader, Pipes
from agentos.workflows.engine.assignment import Assignment

T = TypeVar("T")
KILL_AFTER = 3.5
TIMEOUT_GRACE = 1.0
LATEST_REFILL = 0.6
REFILL_EVERY = 0.03
LOOK_EVERY = 0.05
TOLD_AFTER = 2.0
"""Seconds after which a run whose items have all ended says what it still waits for."""
RESTARTS = 3
OUTPUT_TIMEOUT = 2.0
"""Seconds to wait for the end of the output after a worker has exited."""
LINGERING = 2.0
"""Seconds that a worker may keep running after its report before it is killed."""


@dataclass(slots=True)
class _Running:
    worker: Worker
    deadline: float | None = None
    has_timed_out: bool = False
    was_stopped: bool = False


class ProcessWorkers:
    """Workers on this machine, served by an event loop on its own thread.

    Workers are forked ahead of their work, as many as may run at once. A used spare is
    replaced when no worker computes because all wait for models, or after a short
    maximum delay.
    """

    def __init__(
        self,
        gateway: Gateway,
        scratch: Scratch,
        environ: Mapping[str, str],
        log: Path,
        kind: Kind,
        root: Path,
        home: Home,
        locks: Mapping[Item, ItemLock],
        *,
        at_once: int,
        in_all: int,
    ) -> None:
        self._kind = kind
        self._root = root
        self._home = home
        self._locks = locks
        """The lock of each item that runs. Its worker inherits it: after a kill -9 of
        the coordinator, no other run can start the item before the worker has exited.
        """
        self._reader = PipeReader()
        self._gateway = gateway
        self._environ = dict(environ)
        self._scratch = scratch
        self._log = log
        self._loop = asyncio.new_event_loop()
        # Errors outside of any call do not belong on the terminal, and asyncio's own
        # report could contain a key.
        self._loop.set_exception_handler(self._note_exception)
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="workers", daemon=True
        )
        self._server: ForkServer | None = None
        self._deaths: set[ForkServer] = set()
        """The fork servers that died during their start since the last one became
        ready.
        """
        self._running: dict[int, _Running] = {}
        self._spares: deque[Worker] = deque()
        self._at_once = at_once
        self._refill_by: float | None = None
        """When spares are forked even if workers compute; None if no refill is
        scheduled.
        """
        self._still_to_come = in_all
        self._pace = Pace(os.cpu_count() or 1)
        self._is_stopping = False
        self._is_hurried = False
        self.is_abandoned = False
        self._suspended_at: float | None = None

    def start(self) -> None:
        """Start the event loop and the fork server, which imports in the background."""
        self._thread.start()
        self._submit(self._start_server()).result()

    def wait_ready(self, is_wanted: Callable[[], bool]) -> float:
        """Wait for the fork server and the first workers while they are wanted; return
        the seconds.
        """
        started = time.monotonic()
        getting_ready = self._submit(self._get_ready())
        while is_wanted():
            try:
                getting_ready.result(timeout=LOOK_EVERY)
                break
            except TimeoutError:
                continue
        return time.monotonic() - started

    def run(
        self,
        assignment: Assignment,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        timeout: float | None,
    ) -> Exit:
        """Run one assignment to its end; block only the calling thread."""
        pipes = self._reader.open(output)
        try:
            running = self._run(assignment, pipes, on_events, timeout)
            return self._submit(running).result()
        finally:
            pipes.close_write_ends()
            if not pipes.wait_drained(OUTPUT_TIMEOUT):
                # A process that the worker started has survived and still has the pipe
                # open.
                pipes.stop()
                pipes.wait_drained(OUTPUT_TIMEOUT)

    def stop(self) -> None:
        """Ask every worker to save its state and exit; kill it after a grace period."""
        self._call(self._stop)

    def hurry(self) -> None:
        """Skip all waiting when closing; may be called in a signal handler."""
        self._is_hurried = True

    def kill(self) -> None:
        """Kill every worker immediately."""
        self._call(self._kill)

    def suspend(self) -> None:
        """Freeze every worker, as when the coordinator is put into the background."""
        self._suspended_at = time.monotonic()
        if self._thread.is_alive():
            try:
                # Wait, since this process is about to be stopped too; but not forever,
                # since the loop may be busy.
                self._submit(self._freeze()).result(timeout=1.0)
            except TimeoutError:
                pass

    def resume(self) -> None:
        """Continue frozen workers without counting the pause against their timeout."""
        self._call(self._resume)

    def close(self) -> None:
        """Stop the fork server, its workers and the event loop."""
        self.is_abandoned = True
        if self._thread.is_alive():
            self._submit(self._close()).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=2.0)
        if not self._loop.is_running():
            # Left to the end of the interpreter, it could be closed after its sockets.
            self._loop.close()
        self._reader.close(OUTPUT_TIMEOUT)

    def _note_exception(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
    ) -> None:
        del loop
        text = f"{context.get('message')}: {context.get('exception')!r}\n"
        with (
            suppress(OSError),
            open(self._log, "a", encoding="utf-8", errors="replace") as log,
        ):
            log.write(redact(text))

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, action: Callable[[], object]) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(action)

    async def _start_server(self) -> ForkServer:
        self._server = ForkServer.start(
            self._environ, self._log, Path(self._scratch.fresh()), self._kind
        )
        return self._server

    async def _get_ready(self) -> None:
        server = await self._ready_server()
        # If the server dies from now on, the next item that needs a worker replaces it.
        with suppress(ForkServerDied, OSError):
            while self._is_short_of_spares:
                self._spares.append(server.fork())
        await asyncio.gather(*(spare.warmed_up for spare in self._spares))

    @property
    def _is_short_of_spares(self) -> bool:
        return not self._is_stopping and len(self._spares) < min(
            self._at_once, self._still_to_come
        )

    async def _ready_server(self) -> ForkServer:
        """Wait for the fork server; restart it a few times if it dies during its
        start.
        """
        while True:
            server = await self._living_server()
            try:
                await server.wait_ready()
            except ForkServerDied as error:
                if self._is_stopping:
                    raise
                # Several items may wait for the same server; the set counts it once.
                self._deaths.add(server)
                if len(self._deaths) > RESTARTS:
                    raise ForkServerDied(
                        f"{error}, {len(self._deaths)} times while it started; run"
                        " again"
                    ) from error
                continue
            self._deaths.clear()
            return server

    async def _living_server(self) -> ForkServer:
        if self._server is None or not self._server.is_alive:
            self._spares.clear()
            if self._server is not None:
                self._server.close()
            return await self._start_server()
        return self._server

    async def _take_worker(self) -> Worker:
        """Return a spare worker or a new one, and schedule its replacement."""
        server = await self._ready_server()
        self._still_to_come -= 1
        if self._refill_by is None:
            self._refill_by = time.monotonic() + LATEST_REFILL
            self._loop.call_later(REFILL_EVERY, self._refill)
        while self._spares:
            spare = self._spares.popleft()
            if spare.is_alive:
                await spare.warmed_up
                return spare
        worker = server.fork()
        await worker.warmed_up
        return worker

    def _refill(self) -> None:
        """Fork one spare, and the next a moment later: their warm-ups should not slow
        down running items.
        """
        if (
            self._server is None
            or not self._server.is_alive
            or not self._is_short_of_spares
        ):
            self._refill_by = None
            return
        if self._pace.is_idle or time.monotonic() >= (self._refill_by or 0.0):
            try:
                self._spares.append(self._server.fork())
            except (ForkServerDied, OSError):
                # The next item that needs a worker reports the error.
                self._refill_by = None
                return
        self._loop.call_later(REFILL_EVERY, self._refill)

    async def _run(
        self,
        assignment: Assignment,
        pipes: Pipes,
        on_events: Callable[[Sequence[Event]], None],
        limit: float | None,
    ) -> Exit:
        """Give one assignment to a worker and return how it ended.

        A lost fork server or channel is not the item's fault: `is_server_lost` makes
        that attempt free.
        """
        try:
            worker = await self._take_worker()
        except (ForkServerDied, OSError) as error:
            return Exit(
                None, str(error), was_stopped=self._is_stopping, is_server_lost=True
            )
        if self._is_stopping:
            # The unused worker dies with the fork server.
            return Exit(None, was_stopped=True)
        running = _Running(worker)
        self._running[id(running)] = running
        watch = None
        if limit is not None:
            running.deadline = time.monotonic() + limit
            watch = asyncio.create_task(self._watch_deadline(running))
        try:
            paths = self._home.item(assignment.repository, assignment.item)
            checkpoint = paths.checkpoint
            conversation = Conversation(
                self._gateway,
                self._pace,
                assignment,
                self._root,
                checkpoint,
                on_events,
            )

            def begin() -> None:
                lock = self._locks[assignment.item]
                worker.begin(pipes.stdout, pipes.stderr, lock.descriptor)
                pipes.close_write_ends()

            places = {"root": str(self._root), "checkpoint": str(checkpoint)}
            report = await conversation.run(worker.channel, begin, places)
            # Without a report, the exit status of the worker says what happened.
            ended = None if report is not None else await worker.ended
        except (ForkServerDied, OSError) as error:
            reason = str(error)
            if not isinstance(error, ForkServerDied):
                reason = await _describe_loss(worker)
            return Exit(
                None,
                reason,
                was_stopped=running.was_stopped or self._is_stopping,
                is_server_lost=True,
            )
        finally:
            del self._running[id(running)]
            if watch is not None:
                watch.cancel()
        self._loop.call_later(LINGERING, worker.signal, signal.SIGKILL)
        if running.has_timed_out:
            # Calls outlive their worker; these would go on costing money.
            item = assignment.item
            await self._gateway.give_up(
                item_key(assignment.repository, item.kind, item.id)
            )
        return _make_exit(report, ended, running, limit)

    async def _watch_deadline(self, running: _Running) -> None:
        while True:
            assert running.deadline is not None
            left = running.deadline - time.monotonic()
            if left <= 0 and self._suspended_at is None:
                break
            await asyncio.sleep(min(max(left, 0.05), 0.5))
        running.has_timed_out = True
        running.worker.signal(signal.SIGTERM)
        await asyncio.sleep(TIMEOUT_GRACE)
        running.worker.signal(signal.SIGKILL)

    def _stop(self) -> None:
        self._is_stopping = True
        for running in list(self._running.values()):
            self._stop_one(running)

    def _stop_one(self, running: _Running) -> None:
        running.was_stopped = True
        # A frozen process does not handle SIGTERM.
        running.worker.signal(signal.SIGCONT)
        running.worker.signal(signal.SIGTERM)
        self._loop.call_later(KILL_AFTER, running.worker.signal, signal.SIGKILL)

    def _kill(self) -> None:
        self._is_stopping = True
        for running in self._running.values():
            running.was_stopped = True
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        for running in self._running.values():
            running.worker.signal(number)

    def _resume(self) -> None:
        if self._suspended_at is None:
            return
        paused = time.monotonic() - self._suspended_at
        self._suspended_at = None
        for running in self._running.values():
            if running.deadline is not None:
                running.deadline += paused
        self._signal_all(signal.SIGCONT)

    async def _freeze(self) -> None:
        self._signal_all(signal.SIGSTOP)

    async def _close(self) -> None:
        finishing = asyncio.create_task(self._gateway.finish())
        self._loop.call_later(TOLD_AFTER, self._gateway.say_outstanding)
        while not self._is_stopping and not self._is_hurried and not finishing.done():
            await asyncio.wait([finishing], timeout=LOOK_EVERY)
        finishing.cancel()
        await self._gateway.close()
        if self._server is not None:
            self._server.close()


async def _describe_loss(worker: Worker) -> str:
    """Describe how a worker exited whose channel closed before its work, for example
    because the disk was full during its warm-up.
    """
    try:
        async with asyncio.timeout(LOOK_EVERY):
            return (await worker.ended).describe()
    except (TimeoutError, ForkServerDied):
        return (
            "the worker was lost before it began; see that the disk has room and run"
            " again"
        )


def _make_exit(
    report: Message | None, ended: Ended | None, running: _Running, limit: float | None
) -> Exit:
    outcome = None
    artifacts = None
    reason = ""
    cpu_seconds = 0.0
    peak_memory = 0
    if report is not None:
        read = read_report(report)
        outcome = read.outcome
        artifacts = read.artifacts
        cpu_seconds = read.cpu_seconds
        peak_memory = read.peak_memory
    elif ended is not None:
        reason = ended.describe()
        cpu_seconds = ended.cpu_seconds
        peak_memory = ended.peak_memory
    if running.has_timed_out:
        reason = (
            f"timed out after {limit:g} s; its checkpoint is kept, raise --timeout and"
            " run again"
        )
    return Exit(
        outcome,
        reason,
        cpu_seconds,
        peak_memory,
        running.has_timed_out,
        running.was_stopped,
        artifacts=artifacts,
    )
