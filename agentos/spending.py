"""Which earlier runs count towards the cap of this one.

A run that was killed, interrupted or stopped by its cap is carried on by the next run of the same workflow in the same
repository. All of them together are one budget chain, known by the name of the first, and a cap holds for all of them:
otherwise every rerun would open a new purse. Runs that live at the same time share a chain too. Each holds a lock on
it, so that none of them ends it under the others.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import make_private_directory, read_regular, write_atomically

NAME_LIMIT = 200


class BudgetChain:
    """The runs that one cap holds for, with this one among them."""

    def __init__(self, root: Path, repository: str, workflow: str, run: str, temporary: Path) -> None:
        self._path = root / "undertakings" / repository / workflow
        make_private_directory(self._path.parent)
        self._life = self._open("live")
        with self._alone():
            self.name = self._read() or run
            write_atomically(self._path, self.name.encode(), temporary=temporary)
            fcntl.flock(self._life, fcntl.LOCK_SH)

    def end(self) -> None:
        """Let the next run begin a chain of its own, unless another run still lives on this one."""
        with self._alone(), suppress(BlockingIOError):
            fcntl.flock(self._life, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the chain."""
        os.close(self._life)

    def _open(self, kind: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._path.with_name(f"{self._path.name}.{kind}"), flags, 0o600)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other run begin or end on the chain for a moment."""
        guard = self._open("lock")
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)

    def _read(self) -> str:
        try:
            return read_regular(self._path, NAME_LIMIT).decode("ascii", "replace").strip()
        except BadInput:
            return ""
