"""Read the output of the workers of this machine: two pipes each, one thread for all."""

from __future__ import annotations

import os
import selectors
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from agentos.workers import Output

# With prefixes a chunk stays below 128 kB, above which malloc maps new pages for every
# buffer.
_READ = 104 * 1024
_PIPE = 1024 * 1024
_CONGESTION_PAUSE = 0.002


@dataclass(slots=True, eq=False)
class Pipes:
    """The pipes of one worker, which gets the write ends `stdout` and `stderr`."""

    stdout: int
    stderr: int
    output: Output
    _stop: Callable[[Pipes], None]
    read_ends: dict[int, bool]
    """The pipes that have not ended, and whether each is that of stderr."""
    drained: threading.Event = field(default_factory=threading.Event)

    def close_write_ends(self) -> None:
        """Close this process's copies of the write ends."""
        ends = (self.stdout, self.stderr)
        self.stdout = -1
        self.stderr = -1
        for end in ends:
            if end >= 0:
                os.close(end)

    def wait_drained(self, timeout: float | None = None) -> bool:
        """Wait until both pipes have ended and were read; return whether they have."""
        return self.drained.wait(timeout)

    def stop(self) -> None:
        """Read what has been written and stop, even if a process still has a write end
        open.
        """
        self.close_write_ends()
        self._stop(self)


class PipeReader:
    """Read all pipes in one thread, one chunk of each in turn."""

    def __init__(self) -> None:
        self._requests: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._wake_only = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = os.pipe()
        for end in (self._wake_reader, self._wake_writer):
            os.set_blocking(end, False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._wake_only.register(self._wake_reader, selectors.EVENT_READ, None)
        self._open: dict[int, Pipes] = {}
        self._is_closing = False
        self._thread = threading.Thread(
            target=self._run, name="output-reader", daemon=True
        )
        self._thread.start()

    def open(self, output: Output) -> Pipes:
        """Return new pipes whose bytes go to `output`."""
        out_reader, out_writer = _open_pipe()
        err_reader, err_writer = _open_pipe()
        pipes = Pipes(
            out_writer,
            err_writer,
            output,
            self._request_stop,
            {out_reader: False, err_reader: True},
        )
        self._ask(lambda: self._add(pipes))
        return pipes

    def close(self, timeout: float) -> None:
        """Read what has been written, and end."""
        self._ask(self._close)
        self._thread.join(timeout)
        if self._thread.is_alive() or self._wake_writer < 0:
            return
        self._selector.close()
        self._wake_only.close()
        ends = (self._wake_reader, self._wake_writer)
        self._wake_reader = -1
        self._wake_writer = -1
        for end in ends:
            os.close(end)

    def _ask(self, request: Callable[[], None]) -> None:
        """Call `request` in the thread."""
        self._requests.append(request)
        try:
            os.write(self._wake_writer, b"\0")
        except OSError:
            pass

    def _request_stop(self, pipes: Pipes) -> None:
        self._ask(lambda: self._stop(pipes))

    def _add(self, pipes: Pipes) -> None:
        for end in pipes.read_ends:
            self._open[end] = pipes
            self._selector.register(end, selectors.EVENT_READ, pipes)

    def _run(self) -> None:
        while not self._is_closing:
            is_congested = False
            for key, _ in self._selector.select():
                if key.data is None:
                    self._serve_requests()
                elif key.fd not in self._open:
                    continue
                elif key.data.output.is_congested:
                    is_congested = True
                else:
                    self._read(key.data, key.fd)
            if is_congested:
                self._wake_only.select(_CONGESTION_PAUSE)

    def _serve_requests(self) -> None:
        try:
            os.read(self._wake_reader, 4096)
        except OSError:
            pass
        while self._requests:
            self._requests.popleft()()

    def _read(self, pipes: Pipes, end: int) -> bool:
        """Read one chunk; return whether there was one."""
        try:
            chunk = os.read(end, _READ)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self._end(pipes, end)
            return False
        pipes.output.feed(chunk, is_error=pipes.read_ends[end])
        return True

    def _stop(self, pipes: Pipes) -> None:
        for end in list(pipes.read_ends):
            os.set_blocking(end, False)
            # Bounded, as a process may keep writing.
            for _ in range(_PIPE // _READ + 1):
                if not self._read(pipes, end):
                    break
            if end in pipes.read_ends:
                self._end(pipes, end)

    def _end(self, pipes: Pipes, end: int) -> None:
        del self._open[end]
        del pipes.read_ends[end]
        self._selector.unregister(end)
        os.close(end)
        if not pipes.read_ends:
            pipes.drained.set()

    def _close(self) -> None:
        for pipes in set(self._open.values()):
            self._stop(pipes)
        self._is_closing = True


def _open_pipe() -> tuple[int, int]:
    """Return a pipe with a large buffer, so that workers rarely wait for the reader."""
    reader, writer = os.pipe()
    try:
        import fcntl

        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
    except (ImportError, AttributeError, OSError):
        pass
    return reader, writer
