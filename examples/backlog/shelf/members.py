"""Members of the neighbourhood."""

from __future__ import annotations

import sqlite3

from shelf.store import ShelfError


def add_member(connection: sqlite3.Connection, name: str, pin: str = "") -> int:
    """Add a member and return the number."""
    with connection:
        cursor = connection.execute(
            "INSERT INTO members (name, pin) VALUES (?, ?)", (name, pin)
        )
    return int(cursor.lastrowid or 0)


def find_member(connection: sqlite3.Connection, name: str) -> sqlite3.Row:
    """Return a member by name."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM members WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        raise ShelfError(f"no member is called {name}")
    return row
