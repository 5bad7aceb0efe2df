"""The thread that owns a terminal: nobody else writes to it."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import select
import threading
import time
from collections.abc import Callable, Iterator

Source = Callable[[], Iterator[tuple[int, bytes]]]
"""Gives, when its turn comes, what to write and to which descriptor."""

_PIECE = 256 * 1024
_BATCH = 256 * 1024
_STALLED_AFTER = 0.2
_REDRAW_EVERY = 0.1
_TICK = 1.0
_CLEAR = b"\r\x1b[K"


class Writer:
    """Write to one terminal, pipe or file from a thread of its own, in the order of the calls.

    `put` is for the coordinator's lines, which are never dropped; it takes no lock that a signal handler
    could find held. `offer` is for workers' lines: beyond `hard` waiting bytes they are counted and dropped,
    until everything that waits is written. Between `soft` and `hard` the writer is congested while its reader
    is slow, and not when it stands still: a slow reader loses nothing and a stalled one stops nobody.
    """

    def __init__(self, descriptors: frozenset[int], *, soft: int, hard: int) -> None:
        self.descriptors = descriptors
        self.on_broken: Callable[[int], None] = lambda _: None
        self.dropped = 0
        self.lost: dict[int, str] = {}
        """Why something could not be written, by descriptor."""
        self.last_write = time.monotonic()
        self._soft, self._hard = soft, hard
        self._queue: queue.SimpleQueue[tuple[int, bytes, bool] | Source | None] = queue.SimpleQueue()
        self._offered = 0
        self._written = 0
        self._blocked_since: float | None = None
        self._dead: set[int] = set()
        self._live_on: int | None = None
        self._live: Callable[[int], bytes] | None = None
        self._drawn = b""
        self._drawn_at = 0.0
        self._is_stale = False
        self._thread = threading.Thread(target=self._run, name="console-writer", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Write what waits and end; say whether that was possible in time."""
        if not self._thread.ident:
            return True
        self._queue.put(None)
        self._thread.join(max(0.0, timeout))
        return not self._thread.is_alive()

    def put(self, descriptor: int, data: bytes) -> None:
        """Write `data` after everything before it."""
        self._queue.put((descriptor, data, False))

    def put_source(self, source: Source) -> None:
        """Write what `source` gives when its turn comes."""
        self._queue.put(source)

    def offer(self, descriptor: int, data: bytes) -> None:
        """Write `data` unless too much waits already; only one thread may offer."""
        if self.dropped or self.waiting + len(data) > self._hard:
            self.dropped += data.count(b"\n")
            return
        self._offered += len(data)
        self._queue.put((descriptor, data, True))

    @property
    def waiting(self) -> int:
        """Bytes that were offered and are not written."""
        return self._offered - self._written

    @property
    def is_congested(self) -> bool:
        """Say whether it is better to offer no more for a moment."""
        if self.waiting <= self._soft:
            return False
        since = self._blocked_since
        return since is None or time.monotonic() - since < _STALLED_AFTER

    def take_dropped(self) -> int:
        """Return how many lines were dropped, once all that waited is written."""
        if not self.dropped or self.waiting:
            return 0
        dropped, self.dropped = self.dropped, 0
        return dropped

    def show_live(self, descriptor: int, live: Callable[[int], bytes]) -> None:
        """Keep a line at the bottom of a terminal; `live` gives its text for a number of columns."""
        self._live_on, self._live, self._is_stale = descriptor, live, True
        self._queue.put((descriptor, b"", False))

    def _run(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=self._patience())
            except queue.Empty:
                self._draw()
                continue
            if item is None:
                break
            item = self._write_batch(item)
            if item is None:
                break
            self._draw_if_due()
        self._clear()

    def _patience(self) -> float | None:
        if self._live is None:
            return None
        if self._drawn and not self._is_stale:
            return _TICK
        return max(0.0, _REDRAW_EVERY - (time.monotonic() - self._drawn_at))

    def _write_batch(self, item: tuple[int, bytes, bool] | Source | None) -> tuple[int, bytes, bool] | Source | None:
        """Write `item` and what waits behind it, joined where it goes the same way; return the last item."""
        parts: list[bytes] = []
        target, size, counted = -1, 0, 0
        while item is not None:
            if callable(item):
                self._flush(target, parts)
                with contextlib.suppress(OSError):
                    for descriptor, data in item():
                        self._flush(descriptor, [data])
            else:
                if item[0] != target:
                    self._flush(target, parts)
                    target = item[0]
                parts.append(item[1])
                size += len(item[1])
                counted += len(item[1]) if item[2] else 0
            if size >= _BATCH or self._queue.empty():
                break
            item = self._queue.get()
        self._flush(target, parts)
        self._written += counted
        return item

    def _flush(self, descriptor: int, parts: list[bytes]) -> None:
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        if data:
            self._clear()
            self._write(descriptor, data)
            self.last_write = time.monotonic()

    def _write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`, however long that takes; an error loses it, is noted and raises nothing."""
        view = memoryview(data)
        while view and descriptor not in self._dead:
            if self._blocked_since is None:
                self._blocked_since = time.monotonic()
            try:
                view = view[os.write(descriptor, view[:_PIECE]) :]
                self._blocked_since = None
            except BlockingIOError:
                _wait_writable(descriptor)
            except OSError as error:
                self._blocked_since = None
                if error.errno == errno.EPIPE:
                    self._dead.add(descriptor)
                    with contextlib.suppress(Exception):
                        self.on_broken(descriptor)
                else:
                    self.lost[descriptor] = os.strerror(error.errno or 0)
                return

    def _draw_if_due(self) -> None:
        if self._live is not None and time.monotonic() - self._drawn_at >= _REDRAW_EVERY:
            self._draw()

    def _draw(self) -> None:
        if self._live is None or self._live_on is None:
            return
        self._is_stale = False
        text = self._live(_columns(self._live_on))
        self._drawn_at = time.monotonic()
        if text != self._drawn:
            self._drawn = text
            self._write(self._live_on, _CLEAR + text)

    def _clear(self) -> None:
        if self._drawn and self._live_on is not None:
            self._drawn = b""
            self._write(self._live_on, _CLEAR)


def _columns(descriptor: int) -> int:
    """Return the width of a terminal as it is now."""
    try:
        return os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80


def _wait_writable(descriptor: int) -> None:
    """Wait a moment for a descriptor that somebody made non-blocking."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll(100)
