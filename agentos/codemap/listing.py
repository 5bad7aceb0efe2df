"""List the files of a repository as git sees them, ignored ones left out; without git, by a bounded walk."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentos.codemap.exclusion import is_foreign_folder
from agentos.errors import BadInput
from agentos.programs import with_search_path
from agentos.repository_files import check_git_files

MAX_NAMES = 20_000
_LISTED_BYTES = 16_000_000
_FOLDER_ENTRIES = 50_000
_MAX_DEPTH = 24
_TIMEOUT = 10.0
_KEPT_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME")
_GIT = (
    *(
        "git",
        "--no-pager",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.untrackedCache=false",
    ),
    *("-c", "protocol.allow=never", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
)
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Whatever a repository's own configuration says, nothing is fetched: a missing object must not start a command.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Listing:
    """The ordinary files of a repository, sorted, with their sizes in bytes."""

    sizes: dict[str, int]
    is_cut: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the paths, relative to the repository, in order."""
        return tuple(self.sizes)


def list_files(repository: Path, wanted: Collection[str] = ()) -> Listing:
    """Return at most `MAX_NAMES` files; of more, those whose last part is in `wanted` come before the others."""
    names = _ask_git(repository) or _walk(repository)
    is_cut = len(names) > MAX_NAMES
    if is_cut:
        first = [name for name in names if name.rpartition("/")[2] in wanted]
        names = sorted([*first, *names][:MAX_NAMES])
    sizes = {}
    for name in dict.fromkeys(names):
        try:
            status = os.lstat(f"{repository}/{name}")
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode):
            sizes[name] = status.st_size
    return Listing(sizes, is_cut)


def _ask_git(repository: Path) -> list[str]:
    """Return the sorted names that git lists, none when it cannot; no command that the repository names is run."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environ = with_search_path(kept) | _QUIET
    try:
        check_git_files(repository)
        process = subprocess.Popen(
            _GIT,
            cwd=repository,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, BadInput):
        return []
    alarm = threading.Timer(_TIMEOUT, process.kill)
    alarm.start()
    with process:
        assert process.stdout is not None
        data = process.stdout.read(_LISTED_BYTES)
        is_whole = not process.stdout.read(1)
        if not is_whole:
            process.kill()
    alarm.cancel()
    if is_whole and process.returncode != 0:
        return []
    return sorted({os.fsdecode(name) for name in data.split(b"\0")[:-1] if name})


def _walk(repository: Path) -> list[str]:
    """Return the names below a folder, shallow ones first when there are too many; follows no link."""
    found: list[str] = []
    waiting = deque([("", 0)])
    while waiting and len(found) <= MAX_NAMES:
        folder, depth = waiting.popleft()
        try:
            with os.scandir(repository / folder) as entries:
                listed = sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _FOLDER_ENTRIES)
                )
        except OSError:
            continue
        if ("pyvenv.cfg", False) in listed:
            continue
        for name, is_folder in listed:
            path = f"{folder}/{name}" if folder else name
            if not is_folder:
                found.append(path)
            elif depth < _MAX_DEPTH and not is_foreign_folder(name):
                waiting.append((path, depth + 1))
    return sorted(found)
