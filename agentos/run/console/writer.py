"""The thread that owns a terminal: no other thread writes to it."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import select
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

Source = Callable[[], Iterator[tuple[int, bytes]]]
"""Yields, when its turn comes, descriptors and what to write to them."""

_PIECE = 256 * 1024
_BATCH = 256 * 1024
_STALLED_AFTER = 0.2
_REDRAW_EVERY = 0.1
_TICK = 1.0
_CLEAR = b"\r\x1b[K"


class _Text(NamedTuple):
    """Bytes to write."""

    descriptor: int
    data: bytes
    is_offered: bool = False


_Entry = _Text | Source


class Writer:
    """Write to one terminal, pipe or file from a thread of its own, in the order of the
    calls.

    `put` is for the coordinator's lines, which are never dropped. It takes no lock that
    a signal handler could find taken, hence `SimpleQueue`. `offer` is for workers'
    lines: if more than `hard` bytes wait, they are dropped and counted until everything
    that waits is written. Between `soft` and `hard` the writer is congested as long as
    its reader makes progress: a slow reader then slows the workers down and loses
    nothing, while a stalled one does not stop them.
    """

    def __init__(self, descriptors: frozenset[int], *, soft: int, hard: int) -> None:
        self.descriptors = descriptors
        self.on_broken: Callable[[int], None] = lambda _: None
        self.dropped = 0
        self.lost: dict[int, str] = {}
        """Why something could not be written, by descriptor."""
        self.last_write = time.monotonic()
        self._soft = soft
        self._hard = hard
        self._queue: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        """What to write; None ends the thread."""
        self._offered = 0
        self._written = 0
        self._blocked_since: float | None = None
        self._broken: set[int] = set()
        self._live_descriptor = -1
        self._live: Callable[[int], bytes] | None = None
        self._drawn = b""
        self._drawn_at = 0.0
        self._is_stale = False
        self._thread = threading.Thread(
            target=self._run, name="console-writer", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Write what waits and end; return whether that was possible in time."""
        if not self._thread.ident:
            return True
        self._queue.put(None)
        self._thread.join(max(0.0, timeout))
        return not self._thread.is_alive()

    def put(self, descriptor: int, data: bytes) -> None:
        """Write `data` after everything before it."""
        self._queue.put(_Text(descriptor, data))

    def put_source(self, source: Source) -> None:
        """Write what `source` yields when its turn comes."""
        self._queue.put(source)

    def offer(self, descriptor: int, data: bytes) -> None:
        """Write `data` unless too much waits already; only one thread at a time may
        offer.
        """
        is_full = self.waiting + len(data) > self._hard
        if is_full or self.dropped:
            self.dropped += data.count(b"\n")
            return
        self._offered += len(data)
        self._queue.put(_Text(descriptor, data, is_offered=True))

    @property
    def waiting(self) -> int:
        """Number of bytes that were offered and are not written yet."""
        return self._offered - self._written

    @property
    def is_congested(self) -> bool:
        """Whether to offer nothing more for a moment."""
        if self.waiting <= self._soft:
            return False
        since = self._blocked_since
        if since is None:
            return True
        return time.monotonic() - since < _STALLED_AFTER

    def take_dropped(self) -> int:
        """Return the number of dropped lines once everything that waited is written."""
        if not self.dropped or self.waiting:
            return 0
        dropped = self.dropped
        self.dropped = 0
        return dropped

    def show_live(self, descriptor: int, live: Callable[[int], bytes]) -> None:
        """Keep a line at the bottom of a terminal; `live` returns its text for a number
        of columns.
        """
        self._live_descriptor = descriptor
        self._live = live
        self._is_stale = True
        # Nothing to write: it only wakes the thread.
        self._queue.put(_Text(descriptor, b""))

    def _run(self) -> None:
        while True:
            try:
                entry = self._queue.get(timeout=self._timeout())
            except queue.Empty:
                self._draw()
                continue
            if self._write_batch(entry) is None:
                break
            self._draw_if_due()
        self._clear()

    def _timeout(self) -> float | None:
        """Return the seconds until the live line has to be drawn again."""
        if self._live is None:
            return None
        if self._drawn and not self._is_stale:
            return _TICK
        elapsed = time.monotonic() - self._drawn_at
        return max(0.0, _REDRAW_EVERY - elapsed)

    def _write_batch(self, entry: _Entry | None) -> _Entry | None:
        """Write an entry and those that wait behind it; return the last one.

        Texts for the same descriptor are joined, as one large write is faster than many
        small ones.
        """
        parts: list[bytes] = []
        target = -1
        size = offered = 0
        while entry is not None:
            if isinstance(entry, _Text):
                if entry.descriptor != target:
                    self._flush(target, parts)
                    target = entry.descriptor
                parts.append(entry.data)
                size += len(entry.data)
                if entry.is_offered:
                    offered += len(entry.data)
            else:
                self._flush(target, parts)
                with contextlib.suppress(OSError):
                    for descriptor, data in entry():
                        self._flush(descriptor, [data])
            if size >= _BATCH or self._queue.empty():
                break
            entry = self._queue.get()
        self._flush(target, parts)
        self._written += offered
        return entry

    def _flush(self, descriptor: int, parts: list[bytes]) -> None:
        data = b"".join(parts)
        parts.clear()
        if data:
            self._clear()
            self._write(descriptor, data)
            self.last_write = time.monotonic()

    def _write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`, however long that takes; note an error and drop the
        rest.
        """
        view = memoryview(data)
        while view and descriptor not in self._broken:
            if self._blocked_since is None:
                self._blocked_since = time.monotonic()
            try:
                written = os.write(descriptor, view[:_PIECE])
            except BlockingIOError:
                _wait_writable(descriptor)
                continue
            except OSError as error:
                self._blocked_since = None
                self._note_error(descriptor, error)
                return
            self._blocked_since = None
            view = view[written:]

    def _note_error(self, descriptor: int, error: OSError) -> None:
        if error.errno == errno.EPIPE:
            self._broken.add(descriptor)
            with contextlib.suppress(Exception):
                self.on_broken(descriptor)
        else:
            code = error.errno or 0
            self.lost[descriptor] = os.strerror(code)

    def _draw_if_due(self) -> None:
        now = time.monotonic()
        if now - self._drawn_at >= _REDRAW_EVERY:
            self._draw()

    def _draw(self) -> None:
        if self._live is None:
            return
        self._is_stale = False
        columns = _columns(self._live_descriptor)
        text = self._live(columns)
        self._drawn_at = time.monotonic()
        if text == self._drawn:
            return
        self._drawn = text
        self._write(self._live_descriptor, _CLEAR + text)

    def _clear(self) -> None:
        if self._drawn:
            self._drawn = b""
            self._write(self._live_descriptor, _CLEAR)


def _columns(descriptor: int) -> int:
    """Return the current width of a terminal."""
    try:
        return os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80


def _wait_writable(descriptor: int) -> None:
    """Wait a moment for a descriptor that another program made non-blocking."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll(100)
