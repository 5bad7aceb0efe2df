"""Find items by name."""

from __future__ import annotations

import sqlite3


def search(connection: sqlite3.Connection, words: str) -> list[sqlite3.Row]:
    """Return the items whose name has all the words, in the order of their names."""
    wanted = words.casefold().split()
    rows = connection.execute("SELECT * FROM items ORDER BY name").fetchall()
    return [
        row
        for row in rows
        if wanted and all(word in row["name"].casefold() for word in wanted)
    ]
