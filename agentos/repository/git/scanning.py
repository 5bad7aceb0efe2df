"""Scan a worktree without following links, and select the files to keep."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agentos.repository.git.names import is_kept_from_git
from agentos.repository.git.run import Git

FILE = "100644"
PROGRAM = "100755"
LINK = "120000"
SUBMODULE = "160000"

MOST_FILES = 200_000
LARGEST_FILE = 100_000_000
UNREADABLE = "cannot be read"
TOO_LARGE = "is too large"
_LONGEST_PATH = 4_000
_LEVELS_WITH_RULES = 60
_CACHES = frozenset(
    b"""__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .venv venv node_modules .eggs .cache
    htmlcov .coverage""".split()
)
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FOLDER = _OPEN | os.O_DIRECTORY
_CACHE_ENDS = (b".pyc", b".pyo", b".egg-info")


@dataclass(frozen=True, slots=True)
class Found:
    """One file or link of a worktree."""

    path: bytes
    mode: str
    size: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that cannot be kept, and the reason."""

    path: bytes
    reason: str


class KeptPaths:
    """Paths that are kept with everything in them, even if they are ignored."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        self.paths = frozenset(paths)
        self._folders: set[bytes] = set()
        for path in self.paths:
            folder = path.rpartition(b"/")[0]
            while folder and folder not in self._folders:
                self._folders.add(folder)
                folder = folder.rpartition(b"/")[0]

    def has(self, path: bytes, *, is_folder: bool) -> bool:
        """Tell whether a path is kept, or is a file where a kept path needs a folder."""
        if path in self.paths:
            return True
        if is_folder:
            return False
        return path in self._folders

    def is_below(self, folder: bytes) -> bool:
        """Tell whether a folder contains a kept path."""
        return folder in self._folders


@dataclass
class Scan:
    """The files of a worktree, and the paths that cannot be kept."""

    files: list[Found] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave_out(self, path: bytes, reason: str) -> None:
        """Note a path that cannot be kept."""
        self.left_out.append(LeftOut(path, reason))


@dataclass(frozen=True, slots=True)
class _Seen:
    path: bytes
    status: os.stat_result
    is_forced: bool
    """Whether a folder above it is kept with everything in it."""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


def scan(
    git: Git, folder: Path, kept: KeptPaths, *, with_ignored: bool = False
) -> Scan:
    """Return the files that git does not ignore, and those in `kept`.

    The scan goes level by level, so that git is asked once a level and an ignored
    folder is not entered. Nested repositories are scanned like any folder. With
    `with_ignored` only caches are skipped.
    """
    found = Scan()
    level = [(b"", False)]
    depth = 0
    with open_root(folder) as root:
        while level and len(found.files) <= MOST_FILES:
            seen: list[_Seen] = []
            for path, is_forced in level:
                seen += _list_folder(root, path, is_forced, found)
            ignored = _find_ignored(git, seen, kept, depth, with_ignored)
            level = []
            for entry in seen:
                is_forced = _is_forced(entry, kept)
                is_wanted = is_forced or entry.path not in ignored
                if not entry.is_folder:
                    if is_wanted:
                        _add(entry, found)
                elif is_wanted or kept.is_below(entry.path):
                    level.append((entry.path, is_forced))
            depth += 1
    if len(found.files) > MOST_FILES:
        found.leave_out(b".", f"more than {MOST_FILES:,} files")
        del found.files[MOST_FILES:]
    return found


@contextmanager
def open_root(folder: Path) -> Iterator[int]:
    """Open a folder, which must not be a link, and yield its descriptor."""
    descriptor = os.open(folder, _OPEN_FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_folder(root: int, path: bytes) -> Iterator[int]:
    """Open a folder below another without following links, and yield its descriptor.

    If the owner lacks rights to the folder, they are granted.
    """
    names = path.split(b"/")
    if not path:
        names = []
    descriptor = os.dup(root)
    try:
        for name in names:
            deeper = _open_part(name, descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(folder: int, name: bytes) -> int:
    """Open a regular file for reading, granting the owner the right if it is missing."""
    return _open(name, folder, _OPEN | os.O_NONBLOCK, 0o400)


def _open_part(name: bytes, folder: int) -> int:
    descriptor = _open(name, folder, _OPEN_FOLDER, 0o700)
    mode = os.fstat(descriptor).st_mode
    if mode & 0o700 != 0o700:
        os.fchmod(descriptor, stat.S_IMODE(mode) | 0o700)
    return descriptor


def _open(name: bytes, folder: int, flags: int, needed: int) -> int:
    """Open a file or folder, granting the owner the needed rights if they are missing."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        _permit(name, folder, needed)
        return os.open(name, flags, dir_fd=folder)


def _permit(name: bytes, folder: int, bits: int) -> None:
    """Grant rights to the owner, by descriptor, as the name may have become a link."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            opened = Path(f"/proc/self/fd/{descriptor}")
            opened.chmod(stat.S_IMODE(mode) | bits)
    finally:
        os.close(descriptor)


def _list_folder(root: int, path: bytes, is_forced: bool, found: Scan) -> list[_Seen]:
    seen: list[_Seen] = []
    try:
        with open_folder(root, path) as folder:
            for text in sorted(os.listdir(folder)):  # noqa: PTH208
                name = os.fsencode(text)
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                whole = name
                if path:
                    whole = path + b"/" + name
                is_link = stat.S_ISLNK(status.st_mode)
                if is_kept_from_git(name, is_link=is_link):
                    # At the top this is the worktree's own `.git` file.
                    if path:
                        found.leave_out(whole, "git keeps no such name")
                elif len(whole) > _LONGEST_PATH:
                    found.leave_out(whole[:200] + b"...", "its path is too long")
                else:
                    seen.append(_Seen(whole, status, is_forced))
    except OSError as error:
        reason = f"{UNREADABLE} ({error.strerror})"
        found.leave_out(path or b".", reason)
    return seen


def _is_forced(entry: _Seen, kept: KeptPaths) -> bool:
    if entry.is_forced:
        return True
    return kept.has(entry.path, is_folder=entry.is_folder)


def _find_ignored(
    git: Git, seen: Iterable[_Seen], kept: KeptPaths, depth: int, with_ignored: bool
) -> frozenset[bytes]:
    asked = []
    for entry in seen:
        if _is_forced(entry, kept):
            continue
        if with_ignored and not _is_cache(entry.path):
            continue
        # Without "./" a name that begins with a colon would be a pattern.
        asked.append(b"./" + entry.path + b"\0")
    if not asked:
        return frozenset()
    if depth > _LEVELS_WITH_RULES:
        return frozenset()
    # Without the index a tracked file can be ignored like any other.
    printed = git.answers(
        "check-ignore", "--no-index", "-z", "--stdin", data=b"".join(asked)
    )
    ignored = printed.split(b"\0")[:-1]
    return frozenset(path.removeprefix(b"./") for path in ignored)


def _is_cache(path: bytes) -> bool:
    name = path.rpartition(b"/")[2]
    if name in _CACHES:
        return True
    return name.endswith(_CACHE_ENDS)


def _add(entry: _Seen, found: Scan) -> None:
    mode = entry.status.st_mode
    size = entry.status.st_size
    path = entry.path
    if stat.S_ISLNK(mode):
        git_mode = LINK
    elif not stat.S_ISREG(mode):
        found.leave_out(path, "is a pipe, a socket or a device")
        return
    elif size > LARGEST_FILE:
        megabytes = LARGEST_FILE // 1_000_000
        found.leave_out(path, f"{TOO_LARGE}, over {megabytes} MB")
        return
    elif mode & 0o100:
        git_mode = PROGRAM
    else:
        git_mode = FILE
    found.files.append(Found(path, git_mode, size))
