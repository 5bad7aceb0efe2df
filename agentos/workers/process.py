"""Run each assignment in a process of its own, forked from a server that has everything imported."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agentos.errors import ProviderError
from agentos.gateway.server import Gateway
from agentos.gateway.wire import completion_to_json, request_from_json
from agentos.home import Home
from agentos.task import Outcome
from agentos.workers import Assignment, Event, Exit, Output
from agentos.workers.channel import ChannelClosed, Message, encode, receive
from agentos.workers.fork_server import ForkServer, ForkServerDied, Worker
from agentos.workers.messages import assignment_to_json

T = TypeVar("T")
KILL_AFTER = 3.5
TIMEOUT_GRACE = 1.0
REFILL_AFTER = 0.1


@dataclass(slots=True)
class _Running:
    worker: Worker
    deadline: float | None
    has_timed_out: bool = False
    was_stopped: bool = False


class ProcessWorkers:
    """Workers on this machine. An event loop on a thread of its own talks to all of them and to the gateway.

    Workers are forked ahead of their work, as many as may run at once, and replaced a moment after they were taken,
    when the machine is likely to wait for models anyway.
    """

    def __init__(
        self, gateway: Gateway, home: Home, environ: Mapping[str, str], log: Path, *, at_once: int, in_all: int
    ) -> None:
        self._gateway = gateway
        self._environ = dict(environ)
        self._home = home
        self._log = log
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="workers", daemon=True)
        self._server: ForkServer | None = None
        self._running: dict[int, _Running] = {}
        self._spares: deque[Worker] = deque()
        self._at_once = at_once
        self._still_to_come = in_all
        self._is_stopping = False
        self._suspended_at: float | None = None

    def start(self) -> None:
        """Start the event loop and the fork server; the server imports while the caller goes on."""
        self._thread.start()
        self._submit(self._start_server()).result()

    def wait_ready(self) -> float:
        """Wait for the fork server and the first workers; return the seconds the server needed."""
        return self._submit(self._get_ready()).result()

    def run(
        self,
        assignment: Assignment,
        lock: int,
        output: Output,
        on_event: Callable[[Event], None],
        timeout: float | None,
    ) -> Exit:
        """Run one assignment to its end; blocks the calling thread only."""
        return self._submit(self._run(assignment, lock, output, on_event, timeout)).result()

    def stop(self) -> None:
        """Ask every worker to checkpoint and leave; whoever is still there after the grace is killed."""
        self._call(self._stop)

    def kill(self) -> None:
        """End every worker at once."""
        self._call(lambda: self._signal_all(signal.SIGKILL))

    def suspend(self) -> None:
        """Freeze every worker, as when the coordinator is put into the background."""
        self._suspended_at = time.monotonic()
        if self._thread.is_alive():
            # Waited for, since this process is about to stop too.
            self._submit(self._freeze()).result(timeout=1.0)

    def resume(self) -> None:
        """Let frozen workers go on, without counting the pause as their time."""
        self._call(self._resume)

    def close(self) -> None:
        """End the fork server, whatever still runs under it, and the event loop."""
        if not self._thread.is_alive():
            return
        self._submit(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2.0)

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, action: Callable[[], object]) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(action)

    async def _start_server(self) -> ForkServer:
        self._server = ForkServer.start(self._environ, self._log, self._home.temporary_file())
        return self._server

    async def _get_ready(self) -> float:
        seconds = await (await self._living_server()).wait_ready()
        self._refill()
        await asyncio.gather(*(spare.pid for spare in self._spares))
        return seconds

    async def _living_server(self) -> ForkServer:
        if self._server is None or not self._server.is_alive:
            self._spares.clear()
            return await self._start_server()
        return self._server

    async def _take_worker(self) -> Worker:
        """Return a worker that was forked ahead, or a new one; see that another takes its place."""
        server = await self._living_server()
        await server.wait_ready()
        self._still_to_come -= 1
        self._loop.call_later(REFILL_AFTER, self._refill)
        while self._spares:
            spare = self._spares.popleft()
            if spare.is_alive:
                return spare
        return server.fork()

    def _refill(self) -> None:
        if self._server is None or not self._server.is_alive or self._is_stopping:
            return
        while len(self._spares) < min(self._at_once, self._still_to_come):
            self._spares.append(self._server.fork())

    async def _run(
        self,
        assignment: Assignment,
        lock: int,
        output: Output,
        on_event: Callable[[Event], None],
        limit: float | None,
    ) -> Exit:
        asked = time.monotonic()
        try:
            worker = await self._take_worker()
            if self._is_stopping:
                return Exit(None, was_stopped=True)
            worker.begin(output.stdout, output.stderr, lock)
        except (ForkServerDied, OSError) as error:
            return Exit(None, str(error))
        output.close_write_ends()
        running = _Running(worker, None if limit is None else time.monotonic() + limit)
        self._running[id(running)] = running
        watch = asyncio.create_task(self._watch_deadline(running)) if limit is not None else None
        try:
            outcome = await self._converse(worker.channel, assignment, on_event, asked)
            ended = await worker.ended
        except ForkServerDied as error:
            return Exit(None, str(error))
        finally:
            del self._running[id(running)]
            if watch is not None:
                watch.cancel()
        reason = ended.describe() if outcome is None else ""
        if running.has_timed_out:
            reason = f"timed out after {limit:g} s; its checkpoint is kept, raise --timeout and run again"
        return Exit(outcome, reason, ended.cpu_seconds, ended.peak_memory, running.has_timed_out, running.was_stopped)

    async def _converse(
        self, channel: socket.socket, assignment: Assignment, on_event: Callable[[Event], None], asked: float
    ) -> Outcome | None:
        """Serve one worker until it closes the channel; return the outcome it reported."""
        reader, writer = await asyncio.open_connection(sock=channel)
        outcome: Outcome | None = None
        calls: set[asyncio.Task[None]] = set()

        def send(message: Message) -> None:
            if not writer.is_closing():
                writer.write(encode(message))

        send(assignment_to_json(assignment))
        try:
            while True:
                message = await receive(reader)
                match message:
                    case {"op": "ask"}:
                        call = asyncio.create_task(self._answer(message, send, on_event))
                        calls.add(call)
                        call.add_done_callback(calls.discard)
                    case {"op": "event", **event}:
                        on_event(event)
                    case {"op": "ready", "pid": pid}:
                        ready = round((time.monotonic() - asked) * 1000, 1)
                        on_event({"event": "worker-ready", "pid": pid, "milliseconds": ready})
                    case {"op": "outcome", "outcome": data}:
                        outcome = Outcome.from_json(data)
        except ChannelClosed:
            pass
        finally:
            # The worker is gone; what it asked goes on in the gateway, only nobody here waits for it.
            for call in calls:
                call.cancel()
            writer.close()
        return outcome

    async def _answer(
        self, message: Message, send: Callable[[Message], None], on_event: Callable[[Event], None]
    ) -> None:
        request = request_from_json(message["request"])
        started = time.monotonic()
        event: dict[str, Any] = {
            "event": "call",
            "node": request.node,
            "round": request.round,
            "purpose": request.purpose,
            "model": request.model,
        }
        try:
            answer = await self._gateway.answer(request)
        except ProviderError as error:
            on_event({**event, "seconds": _since(started), "failure": error.failure, "message": str(error)})
            send(
                {
                    "op": "answer",
                    "id": message["id"],
                    "error": {"message": str(error), "failure": error.failure},
                }
            )
            return
        completion = answer.completion
        on_event(
            {
                **event,
                "seconds": _since(started),
                "answered_by": completion.model,
                "from_journal": answer.from_journal,
                "retries": answer.retries,
                "waited_for_key": round(answer.waited, 4),
                "input_tokens": completion.usage.input_tokens,
                "output_tokens": completion.usage.output_tokens,
            }
        )
        send({"op": "answer", "id": message["id"], "completion": completion_to_json(completion)})

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
        await self._gateway.cancel_all()
        if self._server is not None:
            self._server.close()


def _since(started: float) -> float:
    return round(time.monotonic() - started, 4)
