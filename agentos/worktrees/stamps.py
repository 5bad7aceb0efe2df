"""By what it is told that files are still those that git has read, so that it need not be asked again."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import read_regular
from agentos.repository_files import POINTER_LIMIT

Stamp = tuple[int, int, int, int] | None
Stamps = tuple[Stamp, ...]

_SETTLED = 2.0
"""Seconds: of two changes within one tick of the clock the second leaves no trace in the times of a file."""


def stamp(*files: Path) -> Stamps | None:
    """Return what changes whenever one of the files does; None while one of them has changed only just now."""
    found = tuple(map(stamp_of, files))
    return found if all(map(_is_settled, found)) else None


def configuration_files(git_dir: Path) -> tuple[Path, ...]:
    """Return where the configuration of a repository, or of a linked worktree of one, is read from."""
    pointer = git_dir / "commondir"
    try:
        common = git_dir / os.fsdecode(read_regular(pointer, POINTER_LIMIT).rstrip(b"\n"))
    except (BadInput, ValueError):
        common = git_dir
    return pointer, common / "config", git_dir / "config.worktree"


def find_git_folder(path: Path) -> tuple[Path, int, int] | None:
    """Return the `.git` that git would find for a folder and what tells it from another; None when it is no folder.

    A file or a link in that place leads elsewhere, and where it leads can change without a trace.
    """
    for folder in (path, *path.parents):
        try:
            status = (folder / ".git").lstat()
        except OSError:
            continue
        return (folder, status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
    return None


def stamp_of(file: Path, *, follows_links: bool = True) -> Stamp:
    """Return what changes whenever a file does, also when it is then changed back; None when there is no file."""
    try:
        status = file.stat(follow_symlinks=follows_links)
    except OSError:
        return None
    # The last of these is the one that nobody can set.
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def _is_settled(found: Stamp) -> bool:
    return found is None or abs(time.time() - found[3] / 1e9) > _SETTLED
