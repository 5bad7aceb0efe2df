"""Provide a scratch folder for each run, and remove those of runs that have died."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

from agentos.state.files import list_names, remove_tree

_LOCK = "lock"


class Scratch:
    """The scratch folder of one run; its lock shows that the run is alive, even from
    another container.
    """

    def __init__(self, parent: Path) -> None:
        self.path = parent / secrets.token_hex(8)
        self.path.mkdir(mode=0o700)
        self._descriptor = os.open(
            self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def fresh(self) -> str:
        """Return an unused path in the folder.

        It is a text: as a `Path`, each of these random names would be interned.
        """
        return f"{self.path}/{secrets.token_hex(8)}"

    def close(self) -> None:
        """Remove the folder."""
        remove_tree(self.path)
        os.close(self._descriptor)


def sweep(parent: Path) -> None:
    """Remove the scratch folders of runs that have died."""
    for name in list_names(parent):
        try:
            descriptor = os.open(
                parent / name / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            )
        except OSError:
            # A folder without a lock was created just now, or is not a scratch folder.
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(parent / name)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
