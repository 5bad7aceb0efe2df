"""The loop that reads what workers write: the log first, the console second."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agentos.console.lines import LineHolder, LineRenderer
from agentos.console.log import LogFile

# Prefixed, a chunk stays below the 128 kB at which malloc maps fresh pages for every buffer.
_READ = 104 * 1024
_PIPE = 1024 * 1024
_CONGESTION_PAUSE = 0.002


@dataclass(slots=True, eq=False)
class Stream:
    """One pipe of a worker and the way its bytes take."""

    descriptor: int
    is_error: bool
    holder: LineHolder
    renderer: LineRenderer | None
    show: Callable[[bytes], None]
    can_preview: bool
    capture: Capture
    heard: float = 0.0
    is_faulty: bool = False


@dataclass(slots=True, eq=False)
class Capture:
    """The output of one worker; `stdout` and `stderr` are the ends to hand to it."""

    label: str
    log: Path
    stdout: int
    stderr: int
    file: LogFile
    _ask: Callable[[Callable[[], None]], None]
    _stop: Callable[[Capture], None]
    on_end: Callable[[], None]
    streams: list[Stream] = field(default_factory=list)
    _drained: threading.Event = field(default_factory=threading.Event)

    def close_write_ends(self) -> None:
        """Close this process's copies of the ends that were handed on."""
        ends, self.stdout, self.stderr = (self.stdout, self.stderr), -1, -1
        for end in ends:
            if end >= 0:
                os.close(end)

    def wait_drained(self, timeout: float | None = None) -> bool:
        """Wait until both streams have ended and all of them is in the log; say whether that came true."""
        return self._drained.wait(timeout)

    def stop(self) -> None:
        """Take what has been written and read no more, also when some process still holds a write end."""
        self.close_write_ends()
        self._ask(lambda: self._stop(self))

    def finished(self) -> None:
        """Close the log and pass on what waited for the end."""
        self.file.close()
        self.on_end()
        self._drained.set()


def open_pipe() -> tuple[int, int]:
    """Return a pipe with as much room as the system grants, so that a worker rarely waits for us."""
    reader, writer = os.pipe()
    try:
        import fcntl

        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
    except (ImportError, AttributeError, OSError):
        pass
    return reader, writer


class CaptureLoop:
    """Read every worker's pipes in one thread, one read for each that is ready, in turn."""

    def __init__(
        self,
        *,
        idle: float,
        is_congested: Callable[[], bool],
        housekeeping: Callable[[float], float | None],
        complain: Callable[[str], None],
    ) -> None:
        self._idle = idle
        self._is_congested = is_congested
        self._housekeeping = housekeeping
        self._complain = complain
        self._requests: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._wake_only = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = os.pipe()
        for end in (self._wake_reader, self._wake_writer):
            os.set_blocking(end, False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._wake_only.register(self._wake_reader, selectors.EVENT_READ, None)
        self._open: dict[int, Stream] = {}
        self._waiting: set[Stream] = set()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="console-capture", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Take what has been written, close every log and end."""
        if not self._thread.ident:
            self._thread.start()
        self.ask(self._close)
        self._thread.join(max(0.0, timeout))
        if not self._thread.is_alive():
            self._selector.close()
            self._wake_only.close()
            ends, self._wake_reader, self._wake_writer = (self._wake_reader, self._wake_writer), -1, -1
            for end in ends:
                os.close(end)

    def ask(self, request: Callable[[], None]) -> None:
        """Have the loop call `request` soon."""
        self._requests.append(request)
        try:
            os.write(self._wake_writer, b"\0")
        except OSError:
            pass

    def add(self, stream: Stream) -> None:
        """Read `stream` from now on; called by the loop itself."""
        self._open[stream.descriptor] = stream
        self._selector.register(stream.descriptor, selectors.EVENT_READ, stream)

    def stop_capture(self, capture: Capture) -> None:
        """End the streams of `capture` after what their pipes hold now; called by the loop itself."""
        for stream in list(capture.streams):
            os.set_blocking(stream.descriptor, False)
            for _ in range(_PIPE // _READ + 1):
                if stream.descriptor not in self._open or not self._read(stream):
                    break
            if stream in capture.streams:
                self._end(stream)

    def _run(self) -> None:
        while not self._is_closing:
            now = time.monotonic()
            pause = self._housekeeping(now)
            if self._is_congested():
                events = self._wake_only.select(_CONGESTION_PAUSE)
            else:
                events = self._selector.select(self._patience(now, pause))
            for key, _ in events:
                if key.data is None:
                    self._serve_requests()
                elif key.fd in self._open:
                    self._read(key.data)
            if self._waiting:
                self._preview_resting(time.monotonic())

    def _patience(self, now: float, pause: float | None) -> float | None:
        ends = [max(0.0, stream.heard + self._idle - now) for stream in self._waiting]
        if pause is not None:
            ends.append(pause)
        return min(ends, default=None)

    def _serve_requests(self) -> None:
        try:
            os.read(self._wake_reader, 4096)
        except OSError:
            pass
        while self._requests:
            self._requests.popleft()()

    def _read(self, stream: Stream) -> bool:
        """Take one chunk of `stream`; say whether there was one."""
        try:
            chunk = os.read(stream.descriptor, _READ)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self._end(stream)
            return False
        self._guard(stream, lambda: self._pass_on(stream, stream.holder.feed(chunk)))
        if stream.can_preview:
            if chunk.endswith(b"\n"):
                self._waiting.discard(stream)
            else:
                stream.heard = time.monotonic()
                self._waiting.add(stream)
        return True

    def _guard(self, stream: Stream, step: Callable[[], None]) -> None:
        """Let a fault, such as one of a redactor, cost the text at hand and never the loop."""
        try:
            step()
        except Exception as error:
            if not stream.is_faulty:
                stream.is_faulty = True
                self._complain(f"Output of {stream.capture.label} was lost: {type(error).__name__}")

    def _pass_on(self, stream: Stream, data: bytes) -> None:
        if not data:
            return
        stream.capture.file.write(data, is_error=stream.is_error)
        self._show(stream, stream.renderer.feed(data) if stream.renderer else b"")

    def _show(self, stream: Stream, shown: bytes) -> None:
        if shown:
            stream.show(shown)

    def _preview_resting(self, now: float) -> None:
        for stream in [stream for stream in self._waiting if now - stream.heard >= self._idle]:
            self._waiting.discard(stream)
            self._guard(stream, lambda stream=stream: self._preview(stream))  # type: ignore[misc]

    def _preview(self, stream: Stream) -> None:
        if stream.renderer is not None:
            self._show(stream, stream.renderer.preview(stream.holder.peek()))

    def _end(self, stream: Stream) -> None:
        """Finish the last line of `stream`, and its capture when this was the last stream."""
        self._waiting.discard(stream)
        self._open.pop(stream.descriptor, None)
        self._selector.unregister(stream.descriptor)
        os.close(stream.descriptor)
        self._guard(stream, lambda: self._pass_on(stream, stream.holder.release()))
        stream.capture.file.end_line(is_error=stream.is_error)
        self._show(stream, stream.renderer.end() if stream.renderer else b"")
        stream.capture.streams.remove(stream)
        if not stream.capture.streams:
            stream.capture.finished()

    def _close(self) -> None:
        for stream in list(self._open.values()):
            if stream.descriptor in self._open:
                self.stop_capture(stream.capture)
        self._is_closing = True
