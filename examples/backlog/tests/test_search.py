"""Finding items."""

from __future__ import annotations

from pathlib import Path

from shelf.migrate import migrate
from shelf.search import search
from shelf.store import connect


def test_all_words_have_to_be_in_the_name(tmp_path: Path) -> None:
    connection = connect(tmp_path / "shelf.db")
    migrate(connection)
    with connection:
        connection.executemany(
            "INSERT INTO items (name) VALUES (?)",
            [("Cordless drill",), ("Drill bits",)],
        )
    assert [row["name"] for row in search(connection, "drill cord")] == [
        "Cordless drill"
    ]
    assert search(connection, "  ") == []
