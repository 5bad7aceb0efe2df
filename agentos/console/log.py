"""The log file of one workflow."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)

_MARK = b"! "
_MORE = b"..."


def open_log(path: Path) -> int:
    """Open a log for appending, refusing anything but a plain file of our own."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, _FLAGS, 0o600)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(f"not a plain file: {path}")
    return descriptor


class LogFile:
    """Keep the raw bytes of a workflow, those of stderr with `! ` before each line.

    Lines arrive whole. Only a line too long to be held arrives in parts; when the other stream speaks between
    two parts, ` ...` ends the first and `... ` begins the second, so that the two never join.
    A log that cannot be written is reported once, and the workflow goes on.
    """

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self.path = path
        self._complain = complain
        self._is_broken = False
        self._is_torn = False
        self._open_line: bool | None = None
        self._is_inside = {False: False, True: False}
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
            lead = b" " + _MORE + b"\n"
            self._open_line = None
        if self._open_line is None:
            lead += _MARK if is_error else b""
            lead += _MORE + b" " if self._is_inside[is_error] else b""
        ends = data.endswith(b"\n")
        body = data[:-1].replace(b"\n", b"\n" + _MARK) + data[-1:] if is_error else data
        self._is_inside[is_error] = not ends
        self._open_line = None if ends else is_error
        self._append(lead + body if lead else body)

    def end_line(self, *, is_error: bool) -> None:
        """Add the newline that a stream left out at its end."""
        if self._is_inside[is_error]:
            self.write(b"\n", is_error=is_error)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
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
                written += os.write(self._descriptor, memoryview(data)[written:])
            self._is_torn = False
        except OSError as error:
            self._is_torn |= written > 0
            self._report(error)

    def _report(self, error: OSError) -> None:
        if not self._is_broken:
            self._is_broken = True
            self._complain(f"Cannot write the log {self.path}: {error.strerror or error}; the run goes on")
