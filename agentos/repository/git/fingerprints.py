"""Fingerprint files that git has read, so that it is asked again only if they change."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.files import POINTER_LIMIT
from agentos.state.files import read_regular

Fingerprint = tuple[int, int, int, int] | None
Fingerprints = tuple[Fingerprint, ...]

_SETTLED = 2.0
"""Seconds before a change time is trusted: a second change in the same clock tick leaves
no trace.
"""


def read_fingerprints(*files: Path) -> Fingerprints | None:
    """Return fingerprints of the files, None if one of them has just changed."""
    found = tuple(map(read_fingerprint, files))
    if not all(map(_is_settled, found)):
        return None
    return found


def configuration_files(git_dir: Path) -> tuple[Path, ...]:
    """Return the configuration files of a repository or of a linked worktree."""
    pointer = git_dir / "commondir"
    try:
        data = read_regular(pointer, POINTER_LIMIT)
        common = git_dir / os.fsdecode(data.rstrip(b"\n"))
    except (BadInput, ValueError):
        common = git_dir
    return pointer, common / "config", git_dir / "config.worktree"


def find_git_folder(path: Path) -> tuple[Path, int, int] | None:
    """Return the folder of a `.git` folder with its device and inode, None if there is
    none.

    None also for a `.git` file or link: its target can change without a trace.
    """
    for folder in (path, *path.parents):
        try:
            status = (folder / ".git").lstat()
        except OSError:
            continue
        if not stat.S_ISDIR(status.st_mode):
            return None
        return folder, status.st_dev, status.st_ino
    return None


def read_fingerprint(file: Path, *, follows_links: bool = True) -> Fingerprint:
    """Return a fingerprint that changes with the file, None if there is no file."""
    try:
        status = file.stat(follow_symlinks=follows_links)
    except OSError:
        return None
    # The change time is the one time that nobody can set.
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def _is_settled(found: Fingerprint) -> bool:
    if found is None:
        return True
    changed = found[3] / 1e9
    return abs(time.time() - changed) > _SETTLED
