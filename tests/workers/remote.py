"""A second implementation of `Workers`: each worker is in another process tree, with a
home of its own, and sees neither the coordinator's home nor its repository.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentos.gateway.journal import item_key
from agentos.gateway.server import Gateway
from agentos.state.home import Home
from agentos.workers import Event, Exit, Output
from agentos.workers.process.channel import Message
from agentos.workers.process.conversation import Conversation
from agentos.workers.process.messages import read_report
from agentos.workers.process.pacing import Pace
from agentos.workflows.engine.assignment import Assignment
from tests.support import ROOT

GRACE = 3.5
LOOK_EVERY = 0.05


class _Conversation(Conversation):
    """A conversation that also carries output and the exit of the worker."""

    def __init__(self, output: Output, *args: Any) -> None:
        super().__init__(*args)
        self._output = output
        self._held: Message | None = None
        self.status: int | None = None
        self.was_stopped = False
        self.has_timed_out = False
        self.deadline: float | None = None

    def signal(self, number: int) -> None:
        """Ask the worker's machine to send it a signal."""
        self._send({"op": "signal", "number": number})

    def end_soon(self, grace: float = GRACE) -> None:
        """Have the worker save its state and exit; kill it after a while."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(grace, self.signal, signal.SIGKILL)

    def _handle(self, message: Message) -> None:
        match message.get("op"):
            case "output":
                self._output.feed(message["blobs"][0], is_error=message["is_error"])
            case "exited":
                self.status = message["status"]
                super()._end(self._held)
            case _:
                super()._handle(message)

    def _end(self, report: Message | None) -> None:
        # Output may follow the report; the end is the exit, or a closed channel.
        if report is None:
            super()._end(self._held)
        else:
            self._held = report


class RemoteWorkers:
    """Workers on other machines, here played by folders of this one."""

    def __init__(
        self, gateway: Gateway, root: Path, home: Home, machines: Path
    ) -> None:
        self._gateway = gateway
        self._root = root
        self._home = home
        self._machines = machines
        self._pace = Pace(os.cpu_count() or 1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._running: set[_Conversation] = set()
        self._is_stopping = False
        self._suspended_at: float | None = None
        self._last = 0
        self.is_abandoned = False

    def start(self) -> None:
        """Start the event loop."""
        self._thread.start()

    def wait_ready(self, is_wanted: Callable[[], bool]) -> float:
        """Return at once: nothing is prepared ahead."""
        del is_wanted
        return 0.0

    def run(
        self,
        assignment: Assignment,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        timeout: float | None,
    ) -> Exit:
        """Run one assignment to its end."""
        work = self._run(assignment, output, on_events, timeout)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """Ask every worker to save its state and exit."""
        self._call(self._stop)

    def hurry(self) -> None:
        """Do nothing: closing does not wait."""

    def kill(self) -> None:
        """Kill every worker at once."""
        self._call(lambda: self._end_all(signal.SIGKILL))

    def suspend(self) -> None:
        """Freeze every worker."""
        self._suspended_at = time.monotonic()
        self._call(lambda: self._signal_all(signal.SIGSTOP))

    def resume(self) -> None:
        """Continue frozen workers without counting the pause."""
        self._call(self._resume)

    def close(self) -> None:
        """Stop everything that was started."""
        self.is_abandoned = True
        closing = asyncio.run_coroutine_threadsafe(self._gateway.close(), self._loop)
        closing.result()
        self._call(self._loop.stop)
        self._thread.join()

    def _call(self, action: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(action)

    def _stop(self) -> None:
        self._is_stopping = True
        for running in self._running:
            running.was_stopped = True
            running.end_soon()

    def _end_all(self, number: int) -> None:
        self._is_stopping = True
        for running in self._running:
            running.was_stopped = True
        self._signal_all(number)

    def _signal_all(self, number: int) -> None:
        for running in self._running:
            running.signal(number)

    def _resume(self) -> None:
        assert self._suspended_at is not None
        paused = time.monotonic() - self._suspended_at
        self._suspended_at = None
        for running in self._running:
            if running.deadline is not None:
                running.deadline += paused
        self._signal_all(signal.SIGCONT)

    async def _run(
        self,
        assignment: Assignment,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        limit: float | None,
    ) -> Exit:
        if self._is_stopping:
            return Exit(None, was_stopped=True)
        checkpoint = self._home.item(assignment.repository, assignment.item).checkpoint
        running = _Conversation(
            output,
            self._gateway,
            self._pace,
            assignment,
            self._root,
            checkpoint,
            on_events,
        )
        ours, theirs = socket.socketpair()
        with theirs:
            machine = self._start_machine(theirs)
        watch = None
        if limit is not None:
            running.deadline = time.monotonic() + limit
            watch = asyncio.create_task(self._watch_deadline(running))
        self._running.add(running)
        try:
            content = {"blobs": [self._pack_repository()]}
            report = await running.run(ours, lambda: None, content)
        finally:
            self._running.discard(running)
            if watch is not None:
                watch.cancel()
            await asyncio.to_thread(machine.wait)
        if running.has_timed_out:
            item = assignment.item
            key = item_key(assignment.repository, item.kind, item.id)
            await self._gateway.give_up(key)
        return _make_exit(running, report, limit)

    async def _watch_deadline(self, running: _Conversation) -> None:
        while True:
            assert running.deadline is not None
            left = running.deadline - time.monotonic()
            if left <= 0 and self._suspended_at is None:
                break
            await asyncio.sleep(max(left, LOOK_EVERY))
        running.has_timed_out = True
        running.end_soon(1.0)

    def _start_machine(self, end: socket.socket) -> subprocess.Popen[bytes]:
        self._last += 1
        place = self._machines / str(self._last)
        (place / "home").mkdir(parents=True)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(place / "home"),
            "AGENTOS_HOME": str(place / "home/agentos"),
            "PYTHONPATH": str(ROOT),
            "LANGGRAPH_STRICT_MSGPACK": "true",
        }
        command = [sys.executable, "-m", "tests.workers.remote_worker"]
        with open(place / "machine.log", "wb") as log:
            return subprocess.Popen(
                [*self._hiding(), *command],
                stdin=end.fileno(),
                stdout=log,
                stderr=log,
                cwd=place,
                env=environ,
                start_new_session=True,
            )

    def _hiding(self) -> list[str]:
        """Return the command that makes the coordinator's folders empty for another."""
        program = shutil.which("bwrap")
        if program is None:
            return []
        hidden = []
        for folder in (self._root, self._home.root):
            hidden += ["--tmpfs", str(folder)]
        return [program, "--dev-bind", "/", "/", *hidden]

    def _pack_repository(self) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self._root, ".")
        return packed.getvalue()


def _make_exit(
    running: _Conversation, report: Message | None, limit: float | None
) -> Exit:
    outcome = None
    artifacts = None
    reason = ""
    if report is not None:
        read = read_report(report)
        outcome = read.outcome
        artifacts = read.artifacts
    elif running.status is None:
        reason = "the machine of the worker was lost"
    elif running.status < 0:
        reason = f"the worker was killed by {signal.Signals(-running.status).name}"
    else:
        reason = f"the worker ended with status {running.status} before it could report"
    if running.has_timed_out:
        reason = f"timed out after {limit:g} s"
    return Exit(
        outcome,
        reason,
        has_timed_out=running.has_timed_out,
        was_stopped=running.was_stopped,
        artifacts=artifacts,
    )
