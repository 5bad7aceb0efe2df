"""Read and write files atomically, without following planted links."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from agentos.errors import BadInput

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600
SHARED_FILE = 0o644

FilePath = str | os.PathLike[str]
"""A path: plain text where names differ for every item, as pathlib interns them all."""


def open_regular(path: FilePath) -> BinaryIO:
    """Open an ordinary file for reading; refuse pipes and devices."""
    try:
        # Non-blocking, because opening a planted named pipe would wait forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        name = os.path.basename(path)
        raise BadInput(
            f"{name}: cannot be read ({error.strerror}); check the file and its permissions"
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        name = os.path.basename(path)
        raise BadInput(f"{name}: is not an ordinary file; put one there")
    return open(descriptor, "rb")


def read_regular(path: FilePath, limit: int) -> bytes:
    """Return the bytes of an ordinary file; refuse pipes, devices and files larger than
    `limit` bytes.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            megabytes = size / 1_000_000
            name = os.path.basename(path)
            raise BadInput(
                f"{name}: is {megabytes:.1f} MB, the limit is"
                f" {limit / 1_000_000:.0f} MB; split it up"
            )
        return file.read(limit + 1)[:limit]


def write_atomically(
    path: FilePath,
    data: bytes | Iterable[bytes],
    *,
    mode: int = PRIVATE_FILE,
    temporary: FilePath | None = None,
) -> None:
    """Write a file completely or not at all, even if the machine loses power."""
    temporary = temporary or temporary_beside(Path(path))
    try:
        write_new(temporary, data, mode=mode)
        os.replace(temporary, path)
    except BaseException:
        remove_file(temporary)
        raise
    sync_directory(os.path.dirname(path))


def write_new(
    path: FilePath,
    data: bytes | Iterable[bytes],
    *,
    mode: int = PRIVATE_FILE,
    is_durable: bool = True,
) -> None:
    """Create a new file without following links; a durable one is on disk when this
    returns.
    """
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode
    )
    if isinstance(data, bytes):
        data = (data,)
    try:
        for part in data:
            view = memoryview(part)
            while view:
                view = view[os.write(descriptor, view) :]
        if is_durable:
            os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def temporary_beside(path: Path) -> Path:
    """Return an unguessable name in the same directory."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def sync_file(path: FilePath) -> None:
    """Flush an existing file to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def sync_directory(path: FilePath) -> None:
    """Flush a directory to disk, so that a new name survives a power loss."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and overlay file systems cannot sync a directory; that does not
        # undo the rename.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def make_private_directory(path: Path) -> Path:
    """Create a directory, and its missing parents, that only this user can enter."""
    if not path.is_dir():
        missing = [path, *(parent for parent in path.parents if not parent.exists())]
        for directory in reversed(missing):
            directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    return path


def remove_file(path: FilePath) -> None:
    """Remove a file, if it exists."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def remove_tree(path: FilePath) -> None:
    """Remove a directory and its contents, if it exists."""
    import shutil

    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path, with links resolved, lies in a folder; False for a cycle
    of links and for a path that no file can have.
    """
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def list_names(folder: Path) -> frozenset[str]:
    """Return the names in a folder, or none if it cannot be listed."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()
