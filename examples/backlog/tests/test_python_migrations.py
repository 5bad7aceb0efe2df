"""Migrations that are written in Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shelf import migrate
from shelf.store import connect

ADD_ITEM = '''"""Add an item."""


def upgrade(connection):
    with connection:
        connection.execute("INSERT INTO items (name) VALUES ('added by 9000')")
'''


def test_a_migration_in_python_runs_once_after_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    for path in migrate.MIGRATIONS.glob("*.sql"):
        shutil.copy(path, folder)
    (folder / "9000_add_item.py").write_text(ADD_ITEM, "utf-8")
    monkeypatch.setattr(migrate, "MIGRATIONS", folder)
    connection = connect(tmp_path / "shelf.db")

    migrate.migrate(connection)
    migrate.migrate(connection)

    assert [row["name"] for row in connection.execute("SELECT name FROM items")] == [
        "added by 9000"
    ]
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 9000
