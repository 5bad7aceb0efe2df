"""A folder that no path, link or race can leave.

Every folder on the way is opened below the previous one without following links, and
the last name is only used relative to a descriptor that was opened this way. Whatever
is swapped meanwhile, a file ends up in a folder that was inside.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agentos.errors import ItemError
from agentos.state.confinement.opening import Opener, choose_opener
from agentos.state.files import SHARED_FILE
from agentos.state.path_rules import DEEPEST, check_path

EXECUTABLE_FILE = 0o755
SHARED_DIRECTORY = 0o755
_TEMPORARY = re.compile(r"\.agentos-.{16}\.tmp", re.DOTALL)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EXISTING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_TRIES = 100
_KINDS = {
    stat.S_IFLNK: "is a link",
    stat.S_IFDIR: "is a folder",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
}
_LEADS_THROUGH_LINK = (
    errno.ELOOP,
    errno.EMLINK,
    errno.ENOTDIR,
    errno.EXDEV,
    errno.EISDIR,
    errno.ENXIO,
)


class PathRefused(ItemError):
    """A path that leads outside, or to something that is not an ordinary file."""

    failure = "model-format"


class WriteQuotaExceeded(ItemError):
    """One item tried to write more than it may."""

    failure = "model-format"


@dataclass(frozen=True, slots=True)
class WriteQuota:
    """How much may be written: bytes per file, bytes in all files, number of files."""

    per_file: int = 1_000_000
    in_all: int = 20_000_000
    files: int = 500


class ConfinedFolder:
    """Files below a folder that is trusted itself, but whose contents are not."""

    def __init__(
        self,
        root: Path,
        *,
        quota: WriteQuota | None = None,
        opener: Opener | None = None,
        is_durable: bool = True,
    ) -> None:
        self._opener = opener or choose_opener()
        self._quota = quota or WriteQuota()
        self._is_durable = is_durable
        self._sizes: dict[str, int] = {}
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the bytes of an ordinary file that has no hard links, or None if it
        does not exist.
        """
        if limit is None:
            limit = self._quota.per_file
        folder, name = _split(path)
        try:
            with self._folder(path, folder) as here, _explained(path):
                if _status(here, name, path) is None:
                    return None
                return _read(os.open(name, _EXISTING, dir_fd=here), path, limit)
        except FileNotFoundError:
            return None

    def read_text(self, path: str, limit: int | None = None) -> str | None:
        """Return the text of a file, or None if it does not exist; refuse a file that
        is not UTF-8 text.
        """
        data = self.read(path, limit)
        if data is None:
            return None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise PathRefused(f"{_show(path)}: is not a text file; leave it as it is")
        return text

    def write(self, path: str, data: bytes | str) -> None:
        """Write a file completely or not at all, and create missing folders.

        Everybody may read the file, and it stays executable if it was before.
        """
        data = _encode(path, data)
        self.admit({path: len(data)})
        folder, name = _split(path)
        with self._folder(path, folder, is_made=True) as here, _explained(path):
            before = _status(here, name, path)
            mode = SHARED_FILE
            if before is not None and before.st_mode & stat.S_IXUSR:
                mode = EXECUTABLE_FILE
            self._replace(here, name, data, mode)
        self._sizes[path] = len(data)

    def write_all(self, files: Mapping[str, bytes | str]) -> None:
        """Write several files, if all of them together are within the quota."""
        data = {path: _encode(path, text) for path, text in files.items()}
        self.admit({path: len(text) for path, text in data.items()})
        for path, text in data.items():
            self.write(path, text)

    def delete(self, path: str) -> bool:
        """Remove an ordinary file; return whether it existed."""
        folder, name = _split(path)
        try:
            with self._folder(path, folder) as here, _explained(path):
                if _status(here, name, path) is None:
                    return False
                os.unlink(name, dir_fd=here)
                self._sync(here)
        except FileNotFoundError:
            return False
        self._sizes.pop(path, None)
        return True

    def admit(self, sizes: Mapping[str, int]) -> None:
        """Raise `PathRefused` or `WriteQuotaExceeded` if files of these sizes may not
        be written in addition to those so far.
        """
        quota = self._quota
        for path, size in sizes.items():
            _split(path)
            if size > quota.per_file:
                raise WriteQuotaExceeded(
                    f"{_show(path)}: has {size:,} bytes, a file may have"
                    f" {quota.per_file:,}; split it up"
                )
        together = {**self._sizes, **sizes}
        if len(together) > quota.files:
            raise WriteQuotaExceeded(
                f"{len(together):,} files are to be written, the limit is"
                f" {quota.files:,}"
            )
        total = sum(together.values())
        if total > quota.in_all:
            raise WriteQuotaExceeded(
                f"{total:,} bytes are to be written in all, the limit is"
                f" {quota.in_all:,}"
            )

    def sweep(self) -> int:
        """Remove the temporary files that a killed run left; return how many."""
        count = 0
        for top, folders, names, here in os.fwalk(
            ".", dir_fd=self._root, follow_symlinks=False
        ):
            if top.count("/") >= DEEPEST:
                folders.clear()
            elif ".git" in folders:
                folders.remove(".git")
            for name in filter(_TEMPORARY.fullmatch, names):
                with suppress(OSError):
                    os.unlink(name, dir_fd=here)
                    count += 1
        return count

    @contextmanager
    def _folder(
        self, path: str, folder: str, *, is_made: bool = False
    ) -> Iterator[int]:
        """Open the folder of a path for the block; raise `FileNotFoundError` if it is
        missing and should not be created.
        """
        with _explained(path):
            here = self._open(folder, is_made)
        try:
            yield here
        finally:
            os.close(here)

    def _open(self, folder: str, is_made: bool) -> int:
        if not folder:
            return os.dup(self._root)
        try:
            return self._opener.open_folder(self._root, folder)
        except FileNotFoundError:
            if not is_made:
                raise
        here = os.dup(self._root)
        for name in folder.split("/"):
            try:
                with suppress(FileExistsError):
                    os.mkdir(name, SHARED_DIRECTORY, dir_fd=here)
                    self._sync(here)
                below = self._opener.open_folder(here, name)
            finally:
                os.close(here)
            here = below
        return here

    def _replace(self, here: int, name: str, data: bytes, mode: int) -> None:
        temporary, descriptor = _create(here)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                os.fchmod(descriptor, mode)
                if self._is_durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)
        finally:
            # The temporary file still exists only if an operation failed.
            with suppress(OSError):
                os.unlink(temporary, dir_fd=here)
        self._sync(here)

    def _sync(self, here: int) -> None:
        if not self._is_durable:
            return
        try:
            os.fsync(here)
        except OSError as error:
            # Some network and overlay file systems cannot sync a directory; that does
            # not undo the rename.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


def _create(here: int) -> tuple[str, int]:
    """Create a file under an unguessable name."""
    for _ in range(_MOST_TRIES):
        name = f".agentos-{secrets.token_hex(8)}.tmp"
        with suppress(FileExistsError):
            return name, os.open(name, _NEW, 0o600, dir_fd=here)
    raise FileExistsError(errno.EEXIST, "every temporary name is taken")


def _encode(path: str, data: bytes | str) -> bytes:
    """Return the bytes of a file; refuse text with a NUL or a lone surrogate in it."""
    if isinstance(data, bytes):
        return data
    try:
        encoded = data.encode("utf-8")
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise PathRefused(
            f"{_show(path)}: its new contents are not text; send text only"
        )
    return encoded


def _split(path: str) -> tuple[str, str]:
    """Return the folder and the name of a path; refuse an unsafe path."""
    why = check_path(path)
    if why:
        raise PathRefused(
            f"{_show(path)}: {why}; use a plain path inside the repository"
        )
    folder, _, name = path.rpartition("/")
    return folder, name


def _status(here: int, name: str, path: str) -> os.stat_result | None:
    """Return the status of an ordinary file, or None if it is missing; refuse anything
    else.
    """
    try:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _refuse_special(status, path)
    return status


def _refuse_special(status: os.stat_result, path: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    what = _KINDS.get(stat.S_IFMT(status.st_mode), "is a device")
    raise PathRefused(
        f"{_show(path)}: {what}, not an ordinary file; choose another path"
    )


def _read(descriptor: int, path: str, limit: int) -> bytes:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _refuse_special(status, path)
        if status.st_nlink > 1:
            raise PathRefused(
                f"{_show(path)}: has another name elsewhere (a hard link); replace it"
                " by a copy"
            )
        data = b""
        if status.st_size <= limit:
            data = file.read(limit + 1)
        # The file may have grown since its size was read.
        if len(data) > limit or status.st_size > limit:
            raise WriteQuotaExceeded(
                f"{_show(path)}: has more than {limit:,} bytes; edit a smaller file"
            )
        return data


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Name the path in errors of the system, and refuse a path that leads through a
    link.
    """
    try:
        yield
    except (FileNotFoundError, PathRefused, WriteQuotaExceeded):
        raise
    except OSError as error:
        if error.errno in _LEADS_THROUGH_LINK:
            raise PathRefused(
                f"{_show(path)}: leads through a link or something that is not a"
                " folder; choose another path"
            ) from error
        raise OSError(error.errno, error.strerror, path) from error


def _show(path: str) -> str:
    flat = "".join(letter if letter.isprintable() else "?" for letter in path[:160])
    return flat or "(empty path)"
