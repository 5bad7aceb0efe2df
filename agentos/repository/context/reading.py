"""Read files of a repository, never files outside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

FILE_LIMIT = 256_000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Reader:
    """Reads a bounded number of files and bytes.

    Each folder on the way is opened on its own, so that no link leads out of the
    repository.
    """

    def __init__(self, repository: Path, *, max_files: int, max_bytes: int) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self._root = os.open(repository, flags)
        self._texts: dict[str, str | None] = {}
        self._files_left = max_files
        self._bytes_left = max_bytes

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def read(self, name: str, limit: int = FILE_LIMIT) -> str | None:
        """Return the text of a regular UTF-8 file, None for any other file or if no
        more may be read.
        """
        if name in self._texts:
            return self._texts[name]
        if self._files_left <= 0:
            return None
        if self._bytes_left <= 0:
            return None
        self._files_left -= 1
        data = self._read_bytes(name, limit)
        text = None
        if data is not None:
            self._bytes_left -= len(data)
            text = _decode(data)
        self._texts[name] = text
        return text

    def _read_bytes(self, name: str, limit: int) -> bytes | None:
        parts = name.split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            return None
        folder = self._root
        try:
            for part in parts[:-1]:
                inner = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=folder)
                self._leave(folder)
                folder = inner
            file = os.open(parts[-1], _OPEN, dir_fd=folder)
            return _read_regular(file, limit)
        except (OSError, ValueError):
            return None
        finally:
            self._leave(folder)

    def _leave(self, folder: int) -> None:
        if folder != self._root:
            os.close(folder)


def _read_regular(descriptor: int, limit: int) -> bytes | None:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > limit:
            return None
        # The file may have grown since.
        data = file.read(limit + 1)
    if len(data) > limit:
        return None
    return data


def _decode(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text.replace("\r\n", "\n")
