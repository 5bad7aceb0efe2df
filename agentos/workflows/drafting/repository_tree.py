"""The files of a repository, as far as a design may declare them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from agentos.documents.hazards import unsafe_path

_MOST_NAMES = 2000


class RepositoryTree:
    """Look up paths below a folder; what leads out of it, through a symbolic link too, does not exist."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder is there."""
        return self._resolve(path) is not None

    def names(self, folder: str) -> Sequence[str]:
        """Return the names in a folder in order, of very many the first that the system gives."""
        place = self._resolve(folder) if folder else self._root
        if place is None:
            return ()
        try:
            with os.scandir(place) as entries:
                return sorted(entry.name for entry in islice(entries, _MOST_NAMES) if entry.name != ".git")
        except OSError:
            return ()

    def _resolve(self, path: str) -> Path | None:
        if unsafe_path(path):
            return None
        try:
            place = (self._root / path.strip().replace("\\", "/")).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        return place if place.is_relative_to(self._root) else None
