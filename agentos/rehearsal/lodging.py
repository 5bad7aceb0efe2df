"""The throw-away folder of a rehearsal: one rehearsal of a repository at a time, and nothing left of killed ones."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentos import locks
from agentos.errors import UsageError
from agentos.files import list_names, make_private_directory, remove_tree
from agentos.home import Home


@contextmanager
def lodge(home: Home, key: str) -> Iterator[Path]:
    """Give an empty folder that is gone afterwards; what a killed rehearsal left of its own goes first."""
    home.check_private(key)
    place = home.root / "rehearsals" / key
    try:
        make_private_directory(place)
        lock = locks.acquire(place.with_name(f"{key}.lock"), "agentos rehearse")
    except OSError as error:
        raise UsageError(
            f"{place}: cannot be written ({error.strerror}); set AGENTOS_HOME to a folder that can"
        ) from error
    if isinstance(lock, locks.Holder):
        raise UsageError(f"another rehearsal runs as pid {lock.pid} since {lock.since}; wait for it or stop it")
    try:
        for name in list_names(place):
            clear(place / name)
        folder = place / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            clear(folder)
            with suppress(OSError):
                place.rmdir()
    finally:
        lock.release()


def clear(folder: Path) -> None:
    """Remove a folder in which tests have run, also where they took away the right to do so."""
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
