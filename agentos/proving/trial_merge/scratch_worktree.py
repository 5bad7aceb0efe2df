"""The scratch worktree of a trial merge: one trial merge of a repository at a time, and
nothing left of killed ones.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentos.errors import UsageError
from agentos.state import locks
from agentos.state.files import list_names, make_private_directory, remove_tree
from agentos.state.home import Home


@contextmanager
def scratch_worktree(home: Home, key: str) -> Iterator[Path]:
    """Create an empty folder for the block and remove it afterwards, together with what
    a killed trial merge left.
    """
    home.check_private(key)
    parent = home.root / "rehearsals" / key
    try:
        make_private_directory(parent)
        lock = locks.acquire(parent.with_name(f"{key}.lock"), "agentos trial-merge")
    except OSError as error:
        raise UsageError(
            f"{parent}: cannot be written ({error.strerror}); set AGENTOS_HOME to a"
            " folder that can"
        ) from error
    if isinstance(lock, locks.Holder):
        raise UsageError(
            f"another trial merge runs as pid {lock.pid} since {lock.since}; wait for it"
            " or stop it"
        )
    try:
        for name in list_names(parent):
            clear(parent / name)
        folder = parent / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            clear(folder)
            with suppress(OSError):
                parent.rmdir()
    finally:
        lock.release()


def clear(folder: Path) -> None:
    """Remove a folder in which tests have run, even if they removed the permission to
    do so.
    """
    remove_tree(folder)
    if not folder.is_dir():
        with suppress(OSError):
            folder.unlink(missing_ok=True)
        return
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            below = Path(parent) / name
            with suppress(OSError):
                if not below.is_symlink():
                    below.chmod(0o700)
    remove_tree(folder)
