"""Console lines that wait on disk until their workflow has ended."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

_HEADER = struct.Struct("=iI")


class Spool:
    """Keep lines with the descriptor that they are meant for, in order, in a file without a name."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder if folder.is_dir() else None)  # noqa: SIM115
        self._size = 0
        self.lost = 0

    def add(self, descriptor: int, data: bytes) -> None:
        """Append lines; those that do not fit on the disk are counted."""
        record = _HEADER.pack(descriptor, len(data)) + data
        try:
            if os.pwrite(self._file.fileno(), record, self._size) < len(record):
                raise OSError("short write")
            self._size += len(record)
        except OSError:
            self.lost += data.count(b"\n")

    def read(self, descriptors: frozenset[int]) -> Iterator[tuple[int, bytes]]:
        """Yield what is meant for one of `descriptors`."""
        source, offset = self._file.fileno(), 0
        while offset < self._size:
            descriptor, length = _HEADER.unpack(os.pread(source, _HEADER.size, offset))
            offset += _HEADER.size
            if descriptor in descriptors:
                yield descriptor, os.pread(source, length, offset)
            offset += length
