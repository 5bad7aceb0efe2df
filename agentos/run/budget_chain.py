"""Find the earlier runs that count towards the cap of this one.

A run that was killed, interrupted or stopped by its cap is continued by the next run of
the same kind in the same repository. Together they are one budget chain, named after
the first run. A cap applies to the whole chain, as otherwise every rerun would get a
new budget. Runs at the same time share a chain too: each has a shared lock on it, so
that none ends it while another one runs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentos.errors import BadInput
from agentos.state.files import make_private_directory, read_regular, write_atomically

NAME_LIMIT = 200


class BudgetChain:
    """The runs that share one cap, including this one."""

    def __init__(
        self, root: Path, repository: str, workflow: str, run: str, temporary: str
    ) -> None:
        self._path = root / "undertakings" / repository / workflow
        make_private_directory(self._path.parent)
        self._in_use = self._open("live")
        with self._exclusive():
            self.name = self._read() or run
            data = self.name.encode()
            write_atomically(self._path, data, temporary=temporary)
            fcntl.flock(self._in_use, fcntl.LOCK_SH)

    def end(self) -> None:
        """End the chain unless another run uses it; the next run starts a new one."""
        with self._exclusive(), suppress(BlockingIOError):
            fcntl.flock(self._in_use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock on the chain."""
        os.close(self._in_use)

    def _open(self, kind: str) -> int:
        path = self._path.with_name(f"{self._path.name}.{kind}")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o600)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other runs from joining or ending the chain."""
        guard = self._open("lock")
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)

    def _read(self) -> str:
        try:
            data = read_regular(self._path, NAME_LIMIT)
        except BadInput:
            return ""
        return data.decode("ascii", "replace").strip()
