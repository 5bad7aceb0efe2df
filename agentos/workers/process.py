"""Run each assignment in a process of its own, forked from a server that has everything imported."""

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
from agentos.redaction import redact
from agentos.scratch import Scratch
from agentos.task import Outcome, Workflow
from agentos.workers import Assignment, Event, Exit, Output
from agentos.workers.channel import Message
from agentos.workers.conversation import Conversation
from agentos.workers.fork_server import Ended, ForkServer, ForkServerDied, Worker
from agentos.workers.pacing import Pace

T = TypeVar("T")
KILL_AFTER = 3.5
TIMEOUT_GRACE = 1.0
LATEST_REFILL = 0.6
REFILL_EVERY = 0.03
LOOK_EVERY = 0.05
TOLD_AFTER = 2.0
"""Seconds after which it is said what a run still waits for when all its items have ended."""
RESTARTS = 3
LINGERING = 2.0
"""Seconds after which a worker that has reported and is still there is killed."""


@dataclass(slots=True)
class _Running:
    worker: Worker
    deadline: float | None
    has_timed_out: bool = False
    was_stopped: bool = False


class ProcessWorkers:
    """Workers on this machine. An event loop on a thread of its own talks to all of them and to the gateway.

    Workers are forked ahead of their work, as many as may run at once. One that was taken is replaced when nobody
    computes, because all wait for models; at the latest after a while.
    """

    def __init__(
        self,
        gateway: Gateway,
        scratch: Scratch,
        environ: Mapping[str, str],
        log: Path,
        workflow: Workflow,
        *,
        at_once: int,
        in_all: int,
    ) -> None:
        self._workflow = workflow
        self._gateway = gateway
        self._environ = dict(environ)
        self._scratch = scratch
        self._log = log
        self._loop = asyncio.new_event_loop()
        # What goes wrong beside all calls is no line for a terminal, and asyncio's own report could show a key.
        self._loop.set_exception_handler(self._note_exception)
        self._thread = threading.Thread(target=self._loop.run_forever, name="workers", daemon=True)
        self._server: ForkServer | None = None
        self._deaths: set[ForkServer] = set()
        """The fork servers that died while they started, since the last that became ready."""
        self._running: dict[int, _Running] = {}
        self._spares: deque[Worker] = deque()
        self._at_once = at_once
        self._refill_by: float | None = None
        """When spares are forked even if somebody computes; None when none is to be forked."""
        self._still_to_come = in_all
        self._pace = Pace(os.cpu_count() or 1)
        self._is_stopping = False
        self._is_hurried = False
        self.is_abandoned = False
        self._suspended_at: float | None = None

    def start(self) -> None:
        """Start the event loop and the fork server; the server imports while the caller goes on."""
        self._thread.start()
        self._submit(self._start_server()).result()

    def wait_ready(self, is_wanted: Callable[[], bool]) -> float:
        """Wait for the fork server and the first workers, unless they are no longer wanted; return the seconds."""
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
        lock: int,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        timeout: float | None,
    ) -> Exit:
        """Run one assignment to its end; blocks the calling thread only."""
        return self._submit(self._run(assignment, lock, output, on_events, timeout)).result()

    def stop(self) -> None:
        """Ask every worker to checkpoint and leave; whoever is still there after the grace is killed."""
        self._call(self._stop)

    def hurry(self) -> None:
        """Wait for nothing more when closing; may be called in a signal handler."""
        self._is_hurried = True

    def kill(self) -> None:
        """End every worker at once."""
        self._call(self._kill)

    def suspend(self) -> None:
        """Freeze every worker, as when the coordinator is put into the background."""
        self._suspended_at = time.monotonic()
        if self._thread.is_alive():
            try:
                # Waited for, since this process is about to stop too; but not for ever, by a loop that is busy.
                self._submit(self._freeze()).result(timeout=1.0)
            except TimeoutError:
                pass

    def resume(self) -> None:
        """Let frozen workers go on, without counting the pause as their time."""
        self._call(self._resume)

    def close(self) -> None:
        """End the fork server, whatever still runs under it, and the event loop."""
        self.is_abandoned = True
        if not self._thread.is_alive():
            return
        self._submit(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2.0)

    def _note_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        text = f"{context.get('message')}: {context.get('exception')!r}\n"
        with suppress(OSError), open(self._log, "a", encoding="utf-8", errors="replace") as log:
            log.write(redact(text))

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, action: Callable[[], object]) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(action)

    async def _start_server(self) -> ForkServer:
        self._server = ForkServer.start(self._environ, self._log, self._scratch.fresh(), self._workflow)
        return self._server

    async def _get_ready(self) -> None:
        server = await self._ready_server()
        # One that dies from now on is replaced for whoever needs a worker.
        with suppress(ForkServerDied, OSError):
            while self._is_short_of_spares:
                self._spares.append(server.fork())
        await asyncio.gather(*(spare.rehearsed for spare in self._spares))

    @property
    def _is_short_of_spares(self) -> bool:
        return not self._is_stopping and len(self._spares) < min(self._at_once, self._still_to_come)

    async def _ready_server(self) -> ForkServer:
        """Return the fork server when it is ready; one that dies while it starts is started anew, a few times."""
        while True:
            server = await self._living_server()
            try:
                await server.wait_ready()
            except ForkServerDied as error:
                if self._is_stopping:
                    raise
                # Several may wait for the same one.
                self._deaths.add(server)
                if len(self._deaths) > RESTARTS:
                    raise ForkServerDied(f"{error}, {len(self._deaths)} times while it started; run again") from error
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
        """Return a worker that was forked ahead, or a new one; see that another takes its place."""
        server = await self._ready_server()
        self._still_to_come -= 1
        if self._refill_by is None:
            self._refill_by = time.monotonic() + LATEST_REFILL
            self._loop.call_later(REFILL_EVERY, self._refill)
        while self._spares:
            spare = self._spares.popleft()
            if spare.is_alive:
                await spare.rehearsed
                return spare
        worker = server.fork()
        await worker.rehearsed
        return worker

    def _refill(self) -> None:
        """Fork one more worker ahead, and the next a moment later: their rehearsals should disturb nobody."""
        if self._server is None or not self._server.is_alive or not self._is_short_of_spares:
            self._refill_by = None
            return
        if self._pace.is_idle or time.monotonic() >= (self._refill_by or 0.0):
            try:
                self._spares.append(self._server.fork())
            except (ForkServerDied, OSError):
                # Whoever needs a worker will hear of it.
                self._refill_by = None
                return
        self._loop.call_later(REFILL_EVERY, self._refill)

    async def _run(
        self,
        assignment: Assignment,
        lock: int,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        limit: float | None,
    ) -> Exit:
        try:
            worker = await self._take_worker()
        except (ForkServerDied, OSError) as error:
            return Exit(None, str(error), was_stopped=self._is_stopping, is_server_lost=True)
        if self._is_stopping:
            return Exit(None, was_stopped=True)
        running = _Running(worker, None if limit is None else time.monotonic() + limit)
        self._running[id(running)] = running
        watch = asyncio.create_task(self._watch_deadline(running)) if limit is not None else None
        try:
            report = await Conversation(self._gateway, self._pace, assignment, on_events).hold(worker, output, lock)
            # A worker that has reported is as good as gone; only the end of a silent one has to be looked at.
            ended = None if report is not None else await worker.ended
        except (ForkServerDied, OSError) as error:
            reason = str(error) if isinstance(error, ForkServerDied) else await _describe_loss(worker)
            return Exit(None, reason, was_stopped=running.was_stopped or self._is_stopping, is_server_lost=True)
        finally:
            del self._running[id(running)]
            if watch is not None:
                watch.cancel()
        self._loop.call_later(LINGERING, worker.signal, signal.SIGKILL)
        if running.has_timed_out:
            task = assignment.task
            await self._gateway.give_up(item_key(assignment.repository, task.workflow, task.item))
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
        # A frozen process takes no SIGTERM.
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
        away = time.monotonic() - self._suspended_at
        self._suspended_at = None
        for running in self._running.values():
            if running.deadline is not None:
                running.deadline += away
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
    """Say how a worker ended whose channel broke before it began, as when there was no room to rehearse."""
    try:
        async with asyncio.timeout(LOOK_EVERY):
            return (await worker.ended).describe()
    except (TimeoutError, ForkServerDied):
        return "the worker was lost before it began; see that the disk has room and run again"


def _make_exit(report: Message | None, ended: Ended | None, running: _Running, limit: float | None) -> Exit:
    reason = ended.describe() if ended is not None else ""
    if running.has_timed_out:
        reason = f"timed out after {limit:g} s; its checkpoint is kept, raise --timeout and run again"
    if report is not None:
        outcome = Outcome.from_json(report["outcome"])
        used = float(report["cpu_seconds"]), int(report["peak_memory"])
        return Exit(outcome, reason, *used, running.has_timed_out, running.was_stopped)
    used = (ended.cpu_seconds, ended.peak_memory) if ended is not None else (0.0, 0)
    return Exit(None, reason, *used, running.has_timed_out, running.was_stopped)
