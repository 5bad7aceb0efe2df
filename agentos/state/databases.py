"""Share what all SQLite databases need: row digests, and moving a damaged file away."""

from __future__ import annotations

import hashlib
from pathlib import Path

FRESH = "-fresh"
"""Suffix of a database that is being created."""
_SUFFIXES = ("", "-wal", "-shm", "-journal", FRESH)


def companions(path: Path) -> list[Path]:
    """Return a database file and those that SQLite keeps next to it."""
    return [path.with_name(path.name + suffix) for suffix in _SUFFIXES]


def set_aside(path: Path) -> Path:
    """Rename a damaged database so that a person can inspect it."""
    number = 1
    aside = path.with_name(f"{path.name}.corrupt-{number}")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.corrupt-{number}")
    for old, new in zip(companions(path), companions(aside), strict=True):
        if old.exists() or old.is_symlink():
            old.rename(new)
    return aside


def digest_row(*values: object) -> bytes:
    """Return a digest of a row's values; different rows have different digests."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        if isinstance(value, bytes):
            data = value
        else:
            data = repr(value).encode("utf-8", "surrogatepass")
        # The length separates the values: ("ab", "c") is not ("a", "bc").
        digest.update(f"{type(value).__name__}:{len(data)}:".encode())
        digest.update(data)
    return digest.digest()
