"""List the files of a repository that git does not ignore; without git, by a bounded
walk.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.files import check_git_files
from agentos.repository.git.run import GitError, start_git
from agentos.repository.look.exclusion import is_foreign_folder
from agentos.state.variables import GIT, environment, inherit

MAX_NAMES = 20_000
_LISTED_BYTES = 16_000_000
_FOLDER_ENTRIES = 50_000
_MAX_DEPTH = 24
_TIMEOUT = 10.0
_ARGUMENTS = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "protocol.allow=never",
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
)
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # The repository's configuration may name a command to fetch missing objects.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Listing:
    """The sorted paths of a repository's regular files, relative to it."""

    names: tuple[str, ...]
    is_cut: bool = False


def list_files(repository: Path) -> Listing:
    """Return the files, at most `MAX_NAMES`."""
    names = _ask_git(repository) or _walk(repository)
    is_cut = len(names) > MAX_NAMES
    regular = []
    for name in names[:MAX_NAMES]:
        if _is_unrevealed(name):
            continue
        try:
            status = os.lstat(f"{repository}/{name}")
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode):
            regular.append(name)
    return Listing(tuple(regular), is_cut)


def _is_unrevealed(name: str) -> bool:
    """Return whether a file is a result of another item that is just being written."""
    base = base_name(name)
    return base.startswith(".") and base.endswith(".tmp")


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def _ask_git(repository: Path) -> list[str]:
    """Return the sorted names that git lists, none if it fails.

    No command that the repository configures is run.
    """
    environ = inherit(GIT, environment()) | _QUIET
    data = b""
    is_cut = False
    try:
        check_git_files(repository)
        with start_git(_ARGUMENTS, repository, environ, timeout=_TIMEOUT) as output:
            data = output.read(_LISTED_BYTES)
            is_cut = bool(output.read(1))
            if is_cut:
                # Without an error the rest of the output would be awaited.
                raise GitError("git ls-files: the list is too long")
    except (GitError, BadInput, OSError):
        if not is_cut:
            return []
    names = set(data.split(b"\0")[:-1])
    return sorted(map(os.fsdecode, names - {b""}))


def _walk(repository: Path) -> list[str]:
    """Return the names below a folder without following links.

    Level by level, so that the names nearest to the root stay if there are too many.
    """
    found: list[str] = []
    waiting = deque([("", 0)])
    while waiting and len(found) <= MAX_NAMES:
        folder, depth = waiting.popleft()
        try:
            with os.scandir(repository / folder) as entries:
                listed = []
                for entry in islice(entries, _FOLDER_ENTRIES):
                    is_folder = entry.is_dir(follow_symlinks=False)
                    listed.append((entry.name, is_folder))
        except OSError:
            continue
        if ("pyvenv.cfg", False) in listed:
            continue
        for name, is_folder in sorted(listed):
            path = f"{folder}/{name}" if folder else name
            if not is_folder:
                found.append(path)
            elif depth < _MAX_DEPTH and not is_foreign_folder(name):
                waiting.append((path, depth + 1))
    return sorted(found)
