"""By what it is told that files are still those that git has read, so that it need not be asked again."""

from __future__ import annotations

import time
from pathlib import Path

Stamps = tuple[tuple[int, int, int, int] | None, ...]

_SETTLED = 2.0
"""Seconds: of two changes within one tick of the clock the second leaves no trace in the times of a file."""


def stamp(*files: Path) -> Stamps | None:
    """Return what changes whenever one of the files does; None while one of them has changed only just now."""
    return tuple(map(_stamp, files)) if all(map(_is_settled, files)) else None


def configuration_files(git_dir: Path) -> tuple[Path, ...]:
    """Return where the configuration of a repository, or of a linked worktree of one, is read from."""
    pointer = git_dir / "commondir"
    try:
        common = git_dir / pointer.read_text("utf-8", "surrogateescape").rstrip("\n")
    except (OSError, ValueError):
        common = git_dir
    return pointer, common / "config", git_dir / "config.worktree"


def identity(path: Path) -> tuple[int, int]:
    """Return what tells something at a path from another that has come into its place, also from nothing."""
    try:
        status = path.lstat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _stamp(file: Path) -> tuple[int, int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    # The last of these is the one that nobody can set.
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def _is_settled(file: Path) -> bool:
    found = _stamp(file)
    return found is None or abs(time.time() - found[3] / 1e9) > _SETTLED
