"""Open files below a repository, following no link and never waiting for one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.state.confinement import Opener, choose_opener

READ_LIMIT = 2_000_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LINKS = (errno.ELOOP, errno.EMLINK, errno.EXDEV)
_KINDS = {
    stat.S_IFLNK: "is a symbolic link, which is not followed",
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a named pipe, not a file",
    stat.S_IFSOCK: "is a socket, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
}


class FileRefused(Exception):
    """Something that is not an ordinary file inside the repository; the message says
    what it is.
    """


@dataclass(frozen=True, slots=True)
class FileData:
    """The size of a file, and its bytes up to `READ_LIMIT`."""

    size: int
    data: bytes


class Opened:
    """An opened repository, whose contents are not trusted."""

    def __init__(self, root: int, opener: Opener) -> None:
        self._root = root
        self._opener = opener

    def read(self, path: str) -> FileData:
        """Return a file's bytes; raise `FileRefused` for anything but a file, and
        `FileNotFoundError` if there is nothing.
        """
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as here:
                return _read(os.open(name, _FILE, dir_fd=here))
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise FileRefused(self._explain(path, error)) from error

    def kind(self, path: str) -> str:
        """Return what is at a path, as `is a folder`; empty for a file or nothing."""
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as here:
                status = os.stat(name, dir_fd=here, follow_symlinks=False)
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            return _name_error(error)
        return _KINDS.get(stat.S_IFMT(status.st_mode), "")

    def exists(self, path: str) -> bool:
        """Tell whether there is anything at a path."""
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as here:
                os.stat(name, dir_fd=here, follow_symlinks=False)
        except (OSError, ValueError):
            return False
        return True

    @contextmanager
    def _folder(self, folder: str) -> Iterator[int]:
        if not folder:
            yield self._root
            return
        here = self._opener.open_folder(self._root, folder)
        try:
            yield here
        finally:
            os.close(here)

    def _explain(self, path: str, error: Exception) -> str:
        return self.kind(path) or _name_error(error)


@contextmanager
def open_files(root: Path) -> Iterator[Opened]:
    """Open a repository for the block."""
    descriptor = os.open(root, _ROOT)
    try:
        yield Opened(descriptor, choose_opener())
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> FileData:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "")
        if kind:
            raise FileRefused(kind)
        data = file.read(READ_LIMIT)
        # The file may have changed since its size was read.
        size = max(status.st_size, len(data))
        if len(data) < READ_LIMIT:
            size = len(data)
        return FileData(size, data)


def _name_error(error: Exception) -> str:
    if isinstance(error, ValueError):
        return "has a name that no file can have"
    assert isinstance(error, OSError)
    if error.errno in (*_LINKS, errno.ENOTDIR):
        return "leads through a link or something that is not a folder"
    if error.errno == errno.ENAMETOOLONG:
        return "has a name that is too long"
    return f"cannot be read ({error.strerror})"
