"""Record which lines of the declared files run in the processes that tests start.

Runs inside the interpreter of the repository, with the standard library only. For each
run a copy of this file is the `sitecustomize.py` of a folder that comes first on the
PYTHONPATH of those processes, so every Python loads it when it starts. Each line is
written the moment it runs for the first time: a process that is killed loses nothing
but what it would have run later. Here nothing is judged; the process of the tests reads
the lines at its end, and takes none that is no line of a declared file.
"""

# ruff: noqa: PTH100, PTH118, PTH120 - `pathlib` takes longer to import than all of this.

from __future__ import annotations

import os
import sys
import threading

# Importing `typing` takes as long as all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "children"
"""The folder, below that of the results."""
FILES = "files"
"""The paths of the declared files, one a line."""
LINES = "lines"
"""What ran: the number of a file and the number of a line, one pair a line."""
NAME = "sitecustomize"


def record_lines(folder: str) -> None:
    """Follow the declared files that are listed in a folder, from now on and in threads
    that start later.
    """
    with open(os.path.join(folder, FILES), encoding="utf-8") as file:
        paths = file.read().splitlines()
    target = os.path.join(folder, LINES)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    # Looked up now: the code may replace any of them while it runs.
    open_file = os.open
    write = os.write
    close = os.close
    real_path = os.path.realpath

    def make_follower(number: int) -> Any:
        seen: set[int] = set()

        def follow(frame: Any, event: str, _argument: object) -> Any:
            line = frame.f_lineno
            if event != "line" or line in seen:
                return follow
            seen.add(line)
            try:
                # Opened for each line, because daemons close every file that is open.
                descriptor = open_file(target, flags, 0o600)
            except OSError:
                return follow
            try:
                write(descriptor, f"{number} {line}\n".encode("ascii"))
            except OSError:
                pass
            finally:
                close(descriptor)
            return follow

        return follow

    followers = {}
    for number, path in enumerate(paths):
        followers[path] = make_follower(number)
    known: dict[str, Any] = {}

    def enter(frame: Any, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        try:
            return known[name]
        except KeyError:
            known[name] = followers.get(real_path(name))
            return known[name]

    sys.settrace(enter)
    threading.settrace(enter)


def load_own(folder: str) -> None:
    """Load the module of this name that the interpreter would have loaded without us."""
    sys.path[:] = [each for each in sys.path if each != folder]
    sys.path_importer_cache.pop(folder, None)
    ours = sys.modules.pop(NAME)
    try:
        __import__(NAME)
    except ModuleNotFoundError as error:
        if error.name != NAME:
            raise
    finally:
        sys.modules.setdefault(NAME, ours)


if __name__ == NAME:
    own_folder = os.path.dirname(os.path.abspath(__file__))
    try:
        record_lines(own_folder)
    except OSError:
        # The run has ended, and its folder is gone.
        pass
    load_own(own_folder)
