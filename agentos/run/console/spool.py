"""Console lines that are kept on disk until their item has ended."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

_HEADER = struct.Struct("=iI")
_HEADER_SIZE = _HEADER.size


class Spool:
    """Store lines with their target descriptor, in order, in an unnamed file."""

    def __init__(self, folder: Path) -> None:
        parent: Path | None = None
        if folder.is_dir():
            parent = folder
        self._file = tempfile.TemporaryFile(dir=parent)  # noqa: SIM115
        self._descriptor = self._file.fileno()
        self._size = 0
        self.lost = 0

    def add(self, descriptor: int, data: bytes) -> None:
        """Append lines; count those that do not fit on the disk."""
        length = len(data)
        header = _HEADER.pack(descriptor, length)
        record = header + data
        try:
            written = os.pwrite(self._descriptor, record, self._size)
        except OSError:
            written = 0
        if written == len(record):
            self._size += written
        else:
            self.lost += data.count(b"\n")

    def read(self, descriptors: frozenset[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the lines for some descriptors."""
        offset = 0
        while offset < self._size:
            header = os.pread(self._descriptor, _HEADER_SIZE, offset)
            descriptor, length = _HEADER.unpack(header)
            offset += _HEADER_SIZE
            if descriptor in descriptors:
                data = os.pread(self._descriptor, length, offset)
                yield descriptor, data
            offset += length
