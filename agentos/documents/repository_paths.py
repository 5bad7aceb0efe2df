"""Write the paths of a repository in one way, so that they can be compared."""

from __future__ import annotations

from pathlib import PurePosixPath


def plain_path(path: str) -> str:
    """Return a path with forward slashes and without needless parts; the repository itself is the empty path."""
    text = str(PurePosixPath(path.strip().replace("\\", "/")))
    return "" if text == "." else text
