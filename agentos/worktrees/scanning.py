"""Look through a worktree without following links, and tell what of it is kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agentos.worktrees.git import Git
from agentos.worktrees.names import is_kept_from_git

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"

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
_CACHE_ENDS = (b".pyc", b".pyo", b".egg-info")


@dataclass(frozen=True, slots=True)
class Found:
    """One file or link of a worktree."""

    path: bytes
    mode: str
    size: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that cannot be kept, and why."""

    path: bytes
    reason: str


class Kept:
    """Paths that are kept whatever the rules for ignored files say, with all that is in them."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        self.paths = frozenset(paths)
        self._folders: set[bytes] = set()
        for path in self.paths:
            while (path := path.rpartition(b"/")[0]) and path not in self._folders:
                self._folders.add(path)

    def has(self, path: bytes, *, is_folder: bool) -> bool:
        """Tell whether a path is kept; so is a file where a kept file needs a folder."""
        return path in self.paths or (not is_folder and path in self._folders)

    def is_below(self, folder: bytes) -> bool:
        """Tell whether something in a folder is kept."""
        return folder in self._folders


@dataclass
class Scan:
    """What is in a worktree."""

    files: list[Found] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Seen:
    path: bytes
    status: os.stat_result
    is_forced: bool
    """Whether it lies in a folder that is kept with all that is in it."""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


def scan(git: Git, folder: Path, kept: Kept, *, with_ignored: bool = False) -> Scan:
    """Return the files to keep: those that git would not ignore, and the kept ones.

    Level by level, so that git is asked once a level and a folder that is ignored is not entered. Folders of other
    repositories are looked through like any other. With `with_ignored` only caches are passed over.
    """
    found = Scan()
    level = [(b"", False)]
    depth = 0
    with open_root(folder) as root:
        while level and len(found.files) <= MOST_FILES:
            seen = [entry for path, is_forced in level for entry in _look(root, path, is_forced, found)]
            ignored = _passed_over(git, seen, kept, depth, with_ignored)
            level = []
            for entry in seen:
                is_forced = entry.is_forced or kept.has(entry.path, is_folder=entry.is_folder)
                is_wanted = is_forced or entry.path not in ignored
                if entry.is_folder and (is_wanted or kept.is_below(entry.path)):
                    level.append((entry.path, is_forced))
                elif is_wanted and not entry.is_folder:
                    _add(entry, found)
            depth += 1
    if len(found.files) > MOST_FILES:
        found.left_out.append(LeftOut(b".", f"more than {MOST_FILES:,} files"))
        del found.files[MOST_FILES:]
    return found


@contextmanager
def open_root(folder: Path) -> Iterator[int]:
    """Give a descriptor of a folder, which must not be a link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_folder(root: int, path: bytes) -> Iterator[int]:
    """Give a descriptor of a folder below another, with no link on the way; the owner may always work in it."""
    descriptor = os.dup(root)
    try:
        for name in path.split(b"/") if path else ():
            deeper = _open_part(name, descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(folder: int, name: bytes) -> int:
    """Return a descriptor of an ordinary file for reading, also of one that nobody may read for now."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        _permit(name, folder, 0o400)
        return os.open(name, flags, dir_fd=folder)


def _open_part(name: bytes, folder: int) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        _permit(name, folder, 0o700)
        descriptor = os.open(name, flags, dir_fd=folder)
    mode = os.fstat(descriptor).st_mode
    if mode & 0o700 != 0o700:
        os.fchmod(descriptor, stat.S_IMODE(mode) | 0o700)
    return descriptor


def _permit(name: bytes, folder: int, bits: int) -> None:
    """Give the owner rights to something, by a descriptor, as a name could meanwhile be a link to elsewhere."""
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode) | bits)
    finally:
        os.close(descriptor)


def _look(root: int, path: bytes, is_forced: bool, found: Scan) -> list[_Seen]:
    seen: list[_Seen] = []
    try:
        with open_folder(root, path) as folder:
            for text in sorted(os.listdir(folder)):  # noqa: PTH208
                name = os.fsencode(text)
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                whole = path + b"/" + name if path else name
                if is_kept_from_git(name, is_link=stat.S_ISLNK(status.st_mode)):
                    if path:
                        found.left_out.append(LeftOut(whole, "git keeps no such name"))
                elif len(whole) > _LONGEST_PATH:
                    found.left_out.append(LeftOut(whole[:200] + b"...", "its path is too long"))
                else:
                    seen.append(_Seen(whole, status, is_forced))
    except OSError as error:
        found.left_out.append(LeftOut(path or b".", f"{UNREADABLE} ({error.strerror})"))
    return seen


def _passed_over(git: Git, seen: Collection[_Seen], kept: Kept, depth: int, with_ignored: bool) -> frozenset[bytes]:
    asked = [
        entry.path
        for entry in seen
        if not entry.is_forced
        and not kept.has(entry.path, is_folder=entry.is_folder)
        and (not with_ignored or _is_cache(entry.path))
    ]
    if not asked or depth > _LEVELS_WITH_RULES:
        return frozenset()
    # No index is named, so that a file counts as ignored or not by the rules alone.
    arguments = ("check-ignore", "--no-index", "-z", "--stdin")
    # Led in by "./", or a name with a colon in front would be taken for a pattern.
    data = b"".join(b"./" + path + b"\0" for path in asked)
    return frozenset(path[2:] for path in git.answers(*arguments, data=data).split(b"\0") if path)


def _is_cache(path: bytes) -> bool:
    name = path.rpartition(b"/")[2]
    return name in _CACHES or name.endswith(_CACHE_ENDS)


def _add(entry: _Seen, found: Scan) -> None:
    mode = entry.status.st_mode
    if stat.S_ISLNK(mode):
        found.files.append(Found(entry.path, LINK, entry.status.st_size))
    elif not stat.S_ISREG(mode):
        found.left_out.append(LeftOut(entry.path, "is a pipe, a socket or a device"))
    elif entry.status.st_size > LARGEST_FILE:
        found.left_out.append(LeftOut(entry.path, f"{TOO_LARGE}, over {LARGEST_FILE // 1_000_000} MB"))
    else:
        found.files.append(Found(entry.path, PROGRAM if mode & 0o100 else FILE, entry.status.st_size))
