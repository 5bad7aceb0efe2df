"""The one SQLite file: where it is and how it is opened."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

DEFAULT = "shelf.db"
BUSY_TIMEOUT = 2.0


class ShelfError(Exception):
    """Something that a member or a volunteer has to be told in one line."""


def database_path() -> Path:
    """Return the file named by SHELF_DB, or `shelf.db` in the working directory."""
    return Path(os.environ.get("SHELF_DB", DEFAULT))


def connect(path: Path | None = None) -> sqlite3.Connection:
    """Open the database; rows can be read by name."""
    connection = sqlite3.connect(path or database_path(), timeout=BUSY_TIMEOUT)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
