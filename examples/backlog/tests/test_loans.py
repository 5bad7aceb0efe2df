"""Lending and taking back."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path

import pytest

from shelf.loans import lend, loans_of_year, take_back
from shelf.members import add_member
from shelf.migrate import migrate
from shelf.store import ShelfError, connect

TODAY = date(2025, 7, 5)


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    """A database with one item and two members."""
    opened = connect(tmp_path / "shelf.db")
    assert migrate(opened) >= 6
    with opened:
        opened.execute("INSERT INTO items (id, name) VALUES (58, 'drill')")
    for name in ("anna", "ben"):
        add_member(opened, name)
    return opened


def test_an_item_is_lent_for_two_weeks(connection: sqlite3.Connection) -> None:
    assert lend(connection, 58, "anna", TODAY) == date(2025, 7, 19)
    assert [tuple(row) for row in loans_of_year(connection, 2025)] == [
        ("drill", "anna", "2025-07-05", "2025-07-19", None)
    ]


def test_an_item_that_is_lent_is_refused_with_the_name_of_who_has_it(
    connection: sqlite3.Connection,
) -> None:
    lend(connection, 58, "anna", TODAY)
    with pytest.raises(ShelfError, match="item 58 is lent to anna until "):
        lend(connection, 58, "ben", TODAY)


def test_an_item_that_is_back_can_be_lent_again(connection: sqlite3.Connection) -> None:
    lend(connection, 58, "anna", TODAY)
    take_back(connection, 58, TODAY)
    lend(connection, 58, "ben", TODAY)
