"""Read files of a repository without ever leaving it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import TracebackType

FILE_LIMIT = 256_000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Reader:
    """Opens files step by step from the repository's folder, so that no link on the way can lead out of it.

    At most `max_files` files and `max_bytes` bytes are read.
    """

    def __init__(self, repository: Path, *, max_files: int, max_bytes: int) -> None:
        self._root = os.open(repository, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._texts: dict[str, str | None] = {}
        self._files_left = max_files
        self._bytes_left = max_bytes

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._root)

    def read(self, name: str, limit: int = FILE_LIMIT) -> str | None:
        """Return the text of an ordinary UTF-8 file, None for anything else and when enough was read."""
        if name not in self._texts:
            if self._files_left <= 0 or self._bytes_left <= 0:
                return None
            self._files_left -= 1
            data = self._read_bytes(name, limit)
            self._bytes_left -= len(data or b"")
            self._texts[name] = _decode(data)
        return self._texts[name]

    def _read_bytes(self, name: str, limit: int) -> bytes | None:
        *folders, base = name.split("/")
        if any(part in ("", ".", "..") for part in (*folders, base)):
            return None
        place = self._root
        try:
            for folder in folders:
                inner = os.open(folder, _OPEN | os.O_DIRECTORY, dir_fd=place)
                self._leave(place)
                place = inner
            with open(os.open(base, _OPEN, dir_fd=place), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
                    return None
                data = file.read(limit + 1)
                return data if len(data) <= limit else None
        except (OSError, ValueError):
            return None
        finally:
            self._leave(place)

    def _leave(self, place: int) -> None:
        if place != self._root:
            os.close(place)


def _decode(data: bytes | None) -> str | None:
    if data is None or b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
