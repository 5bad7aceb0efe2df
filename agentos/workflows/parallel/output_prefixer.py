"""A text stream that marks every line with who wrote it."""

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
    """Write whole lines, each marked with `prefix`, to a stream that others write to as well.

    A line is passed on as one `write` call once its newline has come; `flush` and `close` end an
    unfinished line, so that nobody else's text can join it. Blank lines carry no prefix.
    Without a stream, the `sys.stdout` of the moment of writing is used.
    """

    def __init__(self, prefix: str, stream: TextIO | None = None) -> None:
        self.prefix = prefix
        self._stream = stream
        self._partial: list[str] = []
        self._buffer_lock = threading.RLock()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream behind."""
        return getattr(self._target, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        """Say yes."""
        return True

    def isatty(self) -> bool:
        """Say no: what is written here passes through a filter."""
        return False

    def write(self, text: str) -> int:
        """Pass on the lines that `text` completes and keep its unfinished rest."""
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
            self._pass_on(lines)
        return len(text)

    def flush(self) -> None:
        """End the unfinished line, if any, and flush the stream behind."""
        if self.closed:
            return
        with self._buffer_lock:
            if self._partial:
                line = "".join(self._partial)
                self._partial.clear()
                self._pass_on([line])
        self._target.flush()

    def close(self) -> None:
        """Flush and refuse further text; the stream behind stays open."""
        if not self.closed:
            try:
                self.flush()
            finally:
                super().close()

    @property
    def _target(self) -> TextIO:
        return sys.stdout if self._stream is None else self._stream

    def _pass_on(self, lines: list[str]) -> None:
        stream = self._target
        with _lock_of(stream):
            for line in lines:
                stream.write(f"{self.prefix} {line}\n" if line else "\n")
