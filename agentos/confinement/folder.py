"""A folder out of which no path, link or race leads.

Every folder on the way is opened below the one before without following links, and the last name is only ever used
relative to a descriptor that was opened so: whatever is swapped meanwhile, a file ends up in a folder that was inside.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from agentos.confinement.opening import Opener, choose_opener
from agentos.documents.changes.paths import DEEPEST, check_path
from agentos.errors import ItemError
from agentos.files import SHARED_FILE

EXECUTABLE_FILE = 0o755
SHARED_DIRECTORY = 0o755
_TEMPORARY = (".agentos-", ".tmp")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EXISTING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_TRIES = 100
_KINDS = (
    (stat.S_ISLNK, "is a link"),
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISSOCK, "is a socket"),
)


class PathRefused(ItemError):
    """A path that leads outside, or to something that is not an ordinary file."""

    failure = "model-format"


class AllowanceExceeded(ItemError):
    """More was to be written than one item may."""

    failure = "model-format"


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much may be written: bytes a file, bytes in all files, and files."""

    per_file: int = 1_000_000
    in_all: int = 20_000_000
    files: int = 500


class ConfinedFolder:
    """Files below a folder that is trusted itself; what lies in it is not."""

    def __init__(
        self,
        root: Path,
        *,
        allowance: Allowance | None = None,
        opener: Opener | None = None,
        is_durable: bool = True,
    ) -> None:
        self._opener = opener or choose_opener()
        self._allowance = allowance or Allowance()
        self._is_durable = is_durable
        self._sizes: dict[str, int] = {}
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the bytes of an ordinary file with one name, None when there is no such file."""
        limit = self._allowance.per_file if limit is None else limit
        folder, name = _split(path)
        try:
            with self._folder(path, folder) as here, _explained(path):
                if _status(here, name, path) is None:
                    return None
                return _read(os.open(name, _EXISTING, dir_fd=here), path, limit)
        except FileNotFoundError:
            return None

    def read_text(self, path: str, limit: int | None = None) -> str | None:
        """Return the text of a file, None when there is no such file; one that is not UTF-8 text is refused."""
        data = self.read(path, limit)
        try:
            text = None if data is None else data.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if text and "\0" in text:
            raise PathRefused(f"{_show(path)}: is not a text file; leave it as it is")
        return text

    def write(self, path: str, data: bytes | str) -> None:
        """Put a file in place whole or not at all; folders on the way are made.

        The file is an ordinary one that everybody may read, and stays executable where the one before was.
        """
        data = _encode(path, data)
        self.admit({path: len(data)})
        folder, name = _split(path)
        with self._folder(path, folder, is_made=True) as here, _explained(path):
            before = _status(here, name, path)
            is_executable = before is not None and before.st_mode & stat.S_IXUSR
            self._replace(here, name, data, EXECUTABLE_FILE if is_executable else SHARED_FILE)
        self._sizes[path] = len(data)

    def write_all(self, files: Mapping[str, bytes | str]) -> None:
        """Write files one after the other, if all of them together keep to the allowance."""
        data = {path: _encode(path, text) for path, text in files.items()}
        self.admit({path: len(text) for path, text in data.items()})
        for path, text in data.items():
            self.write(path, text)

    def delete(self, path: str) -> bool:
        """Remove an ordinary file; tell whether it was there."""
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
        """Raise `PathRefused` or `AllowanceExceeded` if files of these sizes are too much beside those so far."""
        most = self._allowance
        for path, size in sizes.items():
            _split(path)
            if size > most.per_file:
                raise AllowanceExceeded(
                    f"{_show(path)}: has {size:,} bytes, a file may have {most.per_file:,}; split it up"
                )
        together = {**self._sizes, **sizes}
        if len(together) > most.files:
            raise AllowanceExceeded(f"{len(together):,} files are to be written, the limit is {most.files:,}")
        if sum(together.values()) > most.in_all:
            total = sum(together.values())
            raise AllowanceExceeded(f"{total:,} bytes are to be written in all, the limit is {most.in_all:,}")

    def sweep(self) -> int:
        """Remove the temporary files that a killed run left; return how many."""
        count = 0
        for top, folders, names, here in os.fwalk(".", dir_fd=self._root, follow_symlinks=False):
            is_deep = top.count("/") >= DEEPEST
            folders[:] = [] if is_deep else [folder for folder in folders if folder != ".git"]
            for name in names:
                if name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1]) and len(name) == _TEMPORARY_LENGTH:
                    with suppress(OSError):
                        os.unlink(name, dir_fd=here)
                        count += 1
        return count

    @contextmanager
    def _folder(self, path: str, folder: str, *, is_made: bool = False) -> Iterator[int]:
        """Lend a descriptor of the folder of a path; raise `FileNotFoundError` when it is missing and not made."""
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
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=here)
            raise
        self._sync(here)

    def _sync(self, here: int) -> None:
        if self._is_durable:
            try:
                os.fsync(here)
            except OSError as error:
                # Some network and overlay file systems cannot sync a directory; the rename itself has happened.
                if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                    raise


_TEMPORARY_LENGTH = len(_TEMPORARY[0]) + 16 + len(_TEMPORARY[1])


def _create(here: int) -> tuple[str, int]:
    """Create a file under a name that nobody can have guessed."""
    for _ in range(_MOST_TRIES):
        name = f"{_TEMPORARY[0]}{secrets.token_hex(8)}{_TEMPORARY[1]}"
        with suppress(FileExistsError):
            return name, os.open(name, _NEW, 0o600, dir_fd=here)
    raise FileExistsError(errno.EEXIST, "every temporary name is taken")


def _encode(path: str, data: bytes | str) -> bytes:
    """Return the bytes of a file; text that is none, for a NUL or half a character in it, is refused."""
    if isinstance(data, bytes):
        return data
    try:
        encoded = data.encode("utf-8")
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise PathRefused(f"{_show(path)}: its new contents are not text; send text only")
    return encoded


def _split(path: str) -> tuple[str, str]:
    """Return folder and name of a path that is safe as it is written."""
    why = check_path(path)
    if why:
        raise PathRefused(f"{_show(path)}: {why}; use a plain path inside the repository")
    folder, _, name = path.rpartition("/")
    return folder, name


def _status(here: int, name: str, path: str) -> os.stat_result | None:
    """Return the status of an ordinary file, None when there is none; refuse everything else."""
    try:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _refuse_special(status, path)
    return status


def _refuse_special(status: os.stat_result, path: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    what = next((what for is_kind, what in _KINDS if is_kind(status.st_mode)), "is a device")
    raise PathRefused(f"{_show(path)}: {what}, not an ordinary file; choose another path")


def _read(descriptor: int, path: str, limit: int) -> bytes:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _refuse_special(status, path)
        if status.st_nlink > 1:
            raise PathRefused(f"{_show(path)}: has another name elsewhere (a hard link); replace it by a copy")
        data = file.read(limit + 1) if status.st_size <= limit else b""
        if len(data) > limit or status.st_size > limit:
            raise AllowanceExceeded(f"{_show(path)}: has more than {limit:,} bytes; edit a smaller file")
        return data


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Say of a refusal of the system which path it is about."""
    try:
        yield
    except (FileNotFoundError, PathRefused, AllowanceExceeded):
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EXDEV, errno.EISDIR, errno.ENXIO):
            text = "leads through a link or something that is not a folder; choose another path"
            raise PathRefused(f"{_show(path)}: {text}") from error
        raise OSError(error.errno, error.strerror, path) from error


def _show(path: str) -> str:
    flat = "".join(letter if letter.isprintable() else "?" for letter in path[:160])
    return flat or "(empty path)"
