"""Which earlier runs count towards the cap of this one.

A run that was killed, interrupted or stopped by its cap is carried on by the next run of the same workflow in the same
repository. All of them together are one undertaking, known by the name of the first, and a cap holds for all of them:
otherwise every rerun would open a new purse.
"""

from __future__ import annotations

from pathlib import Path

from agentos.errors import BadInput
from agentos.files import make_private_directory, read_regular, write_atomically

NAME_LIMIT = 200


class Undertaking:
    """What this run is part of."""

    def __init__(self, root: Path, repository: str, workflow: str, run: str, temporary: Path) -> None:
        self._path = root / "undertakings" / repository / workflow
        self.name = self._read() or run
        make_private_directory(self._path.parent)
        write_atomically(self._path, self.name.encode(), temporary=temporary)

    def end(self) -> None:
        """Let the next run be one of its own: nothing of this one is left to be carried on."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> str:
        try:
            return read_regular(self._path, NAME_LIMIT).decode("ascii", "replace").strip()
        except BadInput:
            return ""
