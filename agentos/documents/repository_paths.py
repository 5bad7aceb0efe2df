"""Normalize the paths of a repository, so that they can be compared."""

from __future__ import annotations

from pathlib import PurePosixPath


def plain_path(path: str) -> str:
    """Return a path with forward slashes and without redundant parts.

    The repository itself is the empty path.
    """
    slashed = path.strip().replace("\\", "/")
    text = str(PurePosixPath(slashed))
    if text == ".":
        return ""
    return text
