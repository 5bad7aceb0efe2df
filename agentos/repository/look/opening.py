"""Read a file below a repository, following no link and never waiting for one."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import AgentOSError
from agentos.state.confinement import choose_opener

READ_LIMIT = 2_000_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_THROUGH_LINK = (errno.ELOOP, errno.EMLINK, errno.EXDEV, errno.ENOTDIR)


class FileRefused(AgentOSError):
    """Something that cannot be shown; the message says what it is."""


@dataclass(frozen=True, slots=True)
class FileData:
    """The size of a file, and its bytes up to `READ_LIMIT`."""

    size: int
    data: bytes

    @property
    def is_whole(self) -> bool:
        """Tell whether these are all bytes of the file."""
        return self.size == len(self.data)


def read_file(root: Path, path: str) -> FileData:
    """Return the bytes of an ordinary file; raise `FileRefused` for anything else."""
    folder, _, name = path.rpartition("/")
    opened = []
    try:
        here = os.open(root, _ROOT)
        opened.append(here)
        if folder:
            here = choose_opener().open_folder(here, folder)
            opened.append(here)
        return _read(os.open(name, _FILE, dir_fd=here))
    except (OSError, ValueError) as error:
        raise FileRefused(_explain(error)) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _read(descriptor: int) -> FileData:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileRefused("refused: it is a pipe, a device or a folder")
        data = file.read(READ_LIMIT)
    size = len(data)
    if size == READ_LIMIT:
        # Only then is there more; the file may have changed since its size was read.
        size = max(status.st_size, READ_LIMIT)
    return FileData(size, data)


def _explain(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "deleted since this item began"
    if isinstance(error, OSError) and error.errno in _THROUGH_LINK:
        return "refused: it is a link, or leads through one"
    return "cannot be read"
