"""Bring the database to the newest schema.

A migration is a numbered file in `migrations`: a script of SQL, or Python with a function `upgrade(connection)`. One in
Python brings its own transaction, and is run again from the beginning when it was cut off.
"""

from __future__ import annotations

import runpy
import sqlite3
from pathlib import Path

MIGRATIONS = Path(__file__).parent / "migrations"


def pending(connection: sqlite3.Connection) -> list[tuple[int, Path]]:
    """Return the migrations that have not run yet, in order."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    files = [*MIGRATIONS.glob("*.sql"), *MIGRATIONS.glob("*.py")]
    numbered = sorted((int(path.name.split("_")[0]), path) for path in files)
    return [(number, path) for number, path in numbered if number > version]


def migrate(connection: sqlite3.Connection) -> int:
    """Run what is pending and return the version that the database then has."""
    for number, path in pending(connection):
        if path.suffix == ".py":
            runpy.run_path(str(path))["upgrade"](connection)
        else:
            connection.executescript(path.read_text("utf-8"))
        connection.execute(f"PRAGMA user_version = {number}")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
