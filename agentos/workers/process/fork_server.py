"""The coordinator's handle on the fork server: start it, fork workers, and learn how they
exit.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentos.errors import AgentOSError
from agentos.kinds import Kind
from agentos.workers.process.fork_server_main import MESSAGE_SIZE
from agentos.workers.process.server_process import ServerProcess, take


class ForkServerDied(AgentOSError):
    """The fork server exited, and its workers with it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker process exited."""

    status: int
    cpu_seconds: float = 0.0
    peak_memory: int = 0

    def describe(self) -> str:
        """Describe the exit, and tell a crash from a kill."""
        code = os.waitstatus_to_exitcode(self.status)
        if code >= 0:
            return f"the worker ended with status {code} before it could report"
        hint = "; perhaps it ran out of memory" if -code == signal.SIGKILL else ""
        return f"the worker was killed by {signal.Signals(-code).name}{hint}"


class ForkServer:
    """One fork server process; bound to the event loop that created it."""

    def __init__(self, server: ServerProcess, log: Path) -> None:
        self._server = server
        self._control = server.control
        self._control.setblocking(False)
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[float] = self._loop.create_future()
        self._ends: dict[str, asyncio.Future[Ended]] = {}
        self._last = 0
        self.is_alive = True
        self._loop.add_reader(self._control, self._take_messages)

    @classmethod
    def start(
        cls, environ: Mapping[str, str], log: Path, scratch: Path, kind: Kind
    ) -> ForkServer:
        """Start the process, which uses the path `scratch` to warm up; it is not ready
        when this returns.
        """
        server = take(environ, kind)
        try:
            server.begin(log, scratch)
        except OSError:
            server.close()
            raise
        return cls(server, log)

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._server.process.pid

    async def wait_ready(self) -> float:
        """Wait until everything is imported; return the seconds it took."""
        return await asyncio.shield(self._ready)

    def fork(self) -> Worker:
        """Fork one worker, which then waits for its work."""
        if not self.is_alive:
            raise ForkServerDied("the fork server has ended; run again")
        self._last += 1
        request = str(self._last)
        self._ends[request] = self._loop.create_future()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(
                self._control, [f"fork {request}".encode()], [theirs.fileno()]
            )
        return Worker(self, request, ours, self._listen(ours), self._ends[request])

    def _listen(self, channel: socket.socket) -> asyncio.Future[None]:
        """Return a future that is done when a new worker has warmed up or exited."""
        warmed_up: asyncio.Future[None] = self._loop.create_future()

        def take() -> None:
            self._loop.remove_reader(channel.fileno())
            try:
                channel.recv(1)
            except OSError:
                pass
            if not warmed_up.done():
                warmed_up.set_result(None)

        self._loop.add_reader(channel.fileno(), take)
        return warmed_up

    def signal_worker(self, request: str, number: int) -> None:
        """Send a signal to a worker's process group.

        The server sends it, since only the parent knows that the process id was not
        reused.
        """
        if self.is_alive and request in self._ends:
            try:
                self._control.send(f"kill {request} {number}".encode())
            except OSError:
                self._mark_dead()

    def close(self) -> None:
        """Stop the server and all its workers, and reap it."""
        self._mark_dead()
        self._server.close()

    def _take_messages(self) -> None:
        while self.is_alive:
            try:
                data = self._control.recv(MESSAGE_SIZE)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._mark_dead()
                return
            self._take(data.decode().split())

    def _take(self, words: list[str]) -> None:
        match words:
            case ["ready", milliseconds]:
                self._ready.set_result(float(milliseconds) / 1000)
            case ["exited", request, status, cpu, peak]:
                self._ends.pop(request).set_result(
                    Ended(int(status), float(cpu), int(peak))
                )

    def _mark_dead(self) -> None:
        if not self.is_alive:
            return
        self.is_alive = False
        self._loop.remove_reader(self._control)
        self._control.close()
        error = ForkServerDied(f"the fork server has ended{self._last_line()}")
        futures: list[asyncio.Future[Any]] = [self._ready, *self._ends.values()]
        for future in futures:
            if not future.done():
                future.set_exception(error)
                future.exception()

    def _last_line(self) -> str:
        try:
            output = self._server.read_output()
            output += self._log.read_text("utf-8", "replace")
            is_full = os.statvfs(self._log.parent).f_bavail == 0
        except OSError:
            return ""
        lines = output.strip().splitlines()
        if lines:
            return f" ({lines[-1][:200]})"
        return " (the disk is full)" if is_full else ""


@dataclass(frozen=True, slots=True)
class Worker:
    """One forked process."""

    server: ForkServer
    request: str
    channel: socket.socket
    warmed_up: asyncio.Future[None]
    ended: asyncio.Future[Ended]

    @property
    def is_alive(self) -> bool:
        """Whether it is not known to have exited."""
        return self.server.is_alive and not self.ended.done()

    def begin(self, stdout: int, stderr: int, lock: int) -> None:
        """Send the descriptors of its work."""
        socket.send_fds(self.channel, [b"B"], [stdout, stderr, lock])

    def signal(self, number: int) -> None:
        """Send a signal to the worker and everything it started."""
        self.server.signal_worker(self.request, number)
