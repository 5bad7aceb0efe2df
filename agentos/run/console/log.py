"""The log file of one item."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_FLAGS |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def open_log(path: Path) -> int:
    """Open a log for appending; refuse anything but a regular file with one link."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, _FLAGS, 0o600)
    found = os.fstat(descriptor)
    is_regular = stat.S_ISREG(found.st_mode)
    if not is_regular or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(f"not a plain file: {path}")
    return descriptor


class LogFile:
    """Write the raw bytes of an item, with `! ` before each line of stderr.

    Lines arrive whole, except that a line too long for memory arrives in parts. If the
    other stream writes between two parts, ` ...` ends the first and `... ` begins the
    second, so that no line mixes both streams. A log that cannot be written is reported
    once, and the item continues.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self.path = path
        self._warn = warn
        self._is_reported = False
        self._is_torn = False
        """Whether a failed write left a partial line."""
        self._open_line: bool | None = None
        """The stream (is it stderr?) of the last line if that has no newline yet."""
        self._is_inside = {False: False, True: False}
        """Whether each stream is in the middle of a line."""
        self._descriptor = -1
        try:
            self._descriptor = open_log(path)
        except OSError as error:
            self._report(error)

    def write(self, data: bytes, *, is_error: bool) -> None:
        """Append lines, or a part of one, of stdout or stderr."""
        if not data:
            return
        lead = b""
        if self._open_line is not None and self._open_line != is_error:
            lead = b" ...\n"
            self._open_line = None
        if self._open_line is None:
            if is_error:
                lead += b"! "
            if self._is_inside[is_error]:
                lead += b"... "
        is_whole = data.endswith(b"\n")
        if is_error:
            inner = data[:-1].replace(b"\n", b"\n! ")
            data = inner + data[-1:]
        self._is_inside[is_error] = not is_whole
        if not is_whole:
            self._open_line = is_error
        else:
            self._open_line = None
        self._append(lead + data)

    def end_line(self, *, is_error: bool) -> None:
        """Add the newline that a stream lacks at its end."""
        if self._is_inside[is_error]:
            self.write(b"\n", is_error=is_error)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor < 0:
            return
        os.close(self._descriptor)
        self._descriptor = -1

    def _append(self, data: bytes) -> None:
        if self._descriptor < 0:
            return
        if self._is_torn:
            data = b"\n" + data
        written = 0
        try:
            while written < len(data):
                rest = memoryview(data)[written:]
                written += os.write(self._descriptor, rest)
            self._is_torn = False
        except OSError as error:
            self._is_torn |= written > 0
            self._report(error)

    def _report(self, error: OSError) -> None:
        if self._is_reported:
            return
        self._is_reported = True
        reason = error.strerror or error
        self._warn(f"Cannot write the log {self.path}: {reason}; the run continues")
