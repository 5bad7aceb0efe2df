"""Share what all SQLite databases need: row digests, and moving a damaged file away."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from agentos.state.files import FilePath

FRESH = "-fresh"
"""Suffix of a database that is being created."""
_SUFFIXES = ("", "-wal", "-shm", "-journal", FRESH)


def companions(path: FilePath) -> list[str]:
    """Return a database file and those that SQLite keeps next to it."""
    return [f"{path}{suffix}" for suffix in _SUFFIXES]


def set_aside(path: Path) -> Path:
    """Rename a damaged database so that a person can inspect it."""
    number = 1
    aside = Path(f"{path}.corrupt-{number}")
    while aside.exists():
        number += 1
        aside = Path(f"{path}.corrupt-{number}")
    for suffix in _SUFFIXES:
        old = f"{path}{suffix}"
        if os.path.lexists(old):
            os.rename(old, f"{aside}{suffix}")
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
        kind = type(value).__name__
        separator = f"{kind}:{len(data)}:"
        digest.update(separator.encode())
        digest.update(data)
    return digest.digest()
