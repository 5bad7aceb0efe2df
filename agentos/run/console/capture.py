"""The output of workers on its way to the log first, then to the console."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agentos.run.console.lines import LineHolder, LineRenderer
from agentos.run.console.log import LogFile

_LONGEST_TICK = 0.25

Step = Callable[[], None]
"""Something to do, without arguments or a result."""


@dataclass(slots=True, eq=False)
class Stream:
    """One stream of a worker, and how its bytes are processed."""

    is_error: bool
    holder: LineHolder
    renderer: LineRenderer | None
    show: Callable[[bytes], None]
    can_preview: bool
    last_read: float = 0.0
    is_unfinished: bool = False
    """Whether the last line has no newline yet and was not previewed."""
    has_failed: bool = False
    """Whether an error in processing was reported."""


@dataclass(slots=True, eq=False)
class Capture:
    """Takes the output of one worker: what `Workers` writes to."""

    label: str
    log: Path
    file: LogFile
    streams: tuple[Stream, Stream]
    """Standard output and standard error."""
    _console: Captures
    _on_end: Step
    _is_closed: bool = field(default=False)

    @property
    def is_congested(self) -> bool:
        """Whether to feed nothing more for a moment."""
        return self._console.is_congested()

    def feed(self, chunk: bytes, *, is_error: bool) -> None:
        """Take bytes of one stream, cut anywhere."""
        stream = self.streams[is_error]
        with self._console.lock:
            if self._is_closed:
                return
            self._guard(
                stream, lambda: self._pass_on(stream, stream.holder.feed(chunk))
            )
            if not stream.can_preview:
                return
            stream.is_unfinished = not chunk.endswith(b"\n")
            if stream.is_unfinished:
                stream.last_read = time.monotonic()

    def close(self) -> None:
        """Finish the last lines and close the log."""
        with self._console.lock:
            if self._is_closed:
                return
            self._is_closed = True
            for stream in self.streams:
                self._end(stream)
            self.file.close()
            self._console.open.discard(self)
            self._on_end()

    def preview(self, before: float) -> None:
        """Show unfinished lines of which nothing was read since a moment."""
        for stream in self.streams:
            if stream.is_unfinished and stream.last_read <= before:
                stream.is_unfinished = False
                self._guard(stream, partial(self._preview, stream))

    def _guard(self, stream: Stream, step: Step) -> None:
        """Run a step; an error, such as one in a redactor, loses this text but does not
        stop the reader.
        """
        try:
            step()
        except Exception as error:
            if stream.has_failed:
                return
            stream.has_failed = True
            name = type(error).__name__
            self._console.warn(f"Output of {self.label} was lost: {name}")

    def _pass_on(self, stream: Stream, data: bytes) -> None:
        if not data:
            return
        self.file.write(data, is_error=stream.is_error)
        if stream.renderer is not None:
            _show(stream, stream.renderer.feed(data))

    def _preview(self, stream: Stream) -> None:
        if stream.renderer is None:
            return
        held = stream.holder.peek()
        _show(stream, stream.renderer.preview(held))

    def _end(self, stream: Stream) -> None:
        self._guard(stream, lambda: self._pass_on(stream, stream.holder.release()))
        self.file.end_line(is_error=stream.is_error)
        if stream.renderer is not None:
            _show(stream, stream.renderer.end())


def _show(stream: Stream, shown: bytes) -> None:
    if shown:
        stream.show(shown)


class Captures:
    """The open captures of a console, and the thread that shows unfinished lines and
    calls for housekeeping.
    """

    def __init__(
        self,
        *,
        idle: float,
        is_congested: Callable[[], bool],
        housekeeping: Callable[[float], float | None],
        warn: Callable[[str], None],
    ) -> None:
        self.is_congested = is_congested
        self.warn = warn
        self.lock = threading.Lock()
        """Held while bytes are processed: one thread at a time may offer lines to the
        writers.
        """
        self.open: set[Capture] = set()
        self._idle = idle
        self._housekeeping = housekeeping
        self._wake = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(
            target=self._run, name="console-captures", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, capture: Capture) -> None:
        """Register an open capture."""
        with self.lock:
            is_first = not self.open
            self.open.add(capture)
        # With others open, the thread looks often enough by itself.
        if is_first:
            self.wake()

    def wake(self) -> None:
        """Wake the thread, so that it looks at its deadlines again."""
        self._wake.set()

    def stop(self, timeout: float) -> None:
        """Close every capture and end."""
        for capture in list(self.open):
            capture.close()
        self._is_closing = True
        self.wake()
        if self._thread.ident:
            self._thread.join(max(0.0, timeout))

    def _run(self) -> None:
        while not self._is_closing:
            self._wake.clear()
            now = time.monotonic()
            pause = self._housekeeping(now)
            with self.lock:
                for capture in self.open:
                    capture.preview(now - self._idle)
                is_used = bool(self.open)
            if is_used:
                tick = min(self._idle / 4, _LONGEST_TICK)
                pause = tick if pause is None else min(pause, tick)
            self._wake.wait(pause)
