"""A text stream that puts a prefix before every line."""

from __future__ import annotations

import io
import sys
import threading
from typing import TextIO
from weakref import WeakKeyDictionary

_registry = threading.Lock()
_locks: WeakKeyDictionary[TextIO, threading.RLock] = WeakKeyDictionary()
_shared_lock = threading.RLock()


def _lock_of(stream: TextIO) -> threading.RLock:
    """Return the lock that all prefixers of `stream` share."""
    with _registry:
        try:
            return _locks.setdefault(stream, threading.RLock())
        except TypeError:
            return _shared_lock


class OutputPrefixer(io.TextIOBase):
    """Write whole lines, each with `prefix`, to a stream that is shared with others.

    A line is written with one `write` call when its newline arrives; `flush` and `close`
    end an unfinished line, so that no other text can join it. Blank lines have no
    prefix. Without a stream, the current `sys.stdout` is used.
    """

    def __init__(self, prefix: str, stream: TextIO | None = None) -> None:
        self.prefix = prefix
        self._stream = stream
        self._partial: list[str] = []
        self._buffer_lock = threading.RLock()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the underlying stream."""
        return getattr(self._target, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return False: the prefix makes this a filter, not a terminal."""
        return False

    def write(self, text: str) -> int:
        """Write the lines that `text` completes and keep the rest."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with self._buffer_lock:
            *lines, rest = text.split("\n")
            if lines:
                lines[0] = "".join([*self._partial, lines[0]])
                self._partial.clear()
            if rest:
                self._partial.append(rest)
            self._write_lines(lines)
        return len(text)

    def flush(self) -> None:
        """End the unfinished line, if any, and flush the underlying stream."""
        if self.closed:
            return
        with self._buffer_lock:
            if self._partial:
                line = "".join(self._partial)
                self._partial.clear()
                self._write_lines([line])
        self._target.flush()

    def close(self) -> None:
        """Flush and refuse further text; the underlying stream stays open."""
        if not self.closed:
            try:
                self.flush()
            finally:
                super().close()

    @property
    def _target(self) -> TextIO:
        return sys.stdout if self._stream is None else self._stream

    def _write_lines(self, lines: list[str]) -> None:
        stream = self._target
        with _lock_of(stream):
            for line in lines:
                stream.write(f"{self.prefix} {line}\n" if line else "\n")
