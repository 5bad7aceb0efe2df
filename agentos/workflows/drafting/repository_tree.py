"""Look up the files of a repository that a design may declare."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from agentos.state.path_rules import unsafe_path

_MOST_NAMES = 2000


class RepositoryTree:
    """Paths below a folder; a path or symbolic link that leads outside does not exist."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder exists."""
        return self._resolve(path) is not None

    def names(self, folder: str) -> Sequence[str]:
        """Return the sorted names in a folder, at most the first 2000 that the system
        lists.
        """
        path = self._resolve(folder) if folder else self._root
        if path is None:
            return ()
        try:
            with os.scandir(path) as entries:
                names = {entry.name for entry in islice(entries, _MOST_NAMES)}
        except OSError:
            return ()
        return sorted(names - {".git"})

    def _resolve(self, path: str) -> Path | None:
        if unsafe_path(path):
            return None
        try:
            joined = self._root / path.strip().replace("\\", "/")
            resolved = joined.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        return resolved if resolved.is_relative_to(self._root) else None
