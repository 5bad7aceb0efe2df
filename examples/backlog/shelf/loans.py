"""Lend items and take them back."""

from __future__ import annotations

import sqlite3
from datetime import date, timedelta

from shelf.members import find_member
from shelf.store import ShelfError

LOAN_DAYS = 14


def open_loan(connection: sqlite3.Connection, item: int) -> sqlite3.Row | None:
    """Return the loan that holds an item now."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT loans.*, members.name AS member FROM loans JOIN members ON members.id = loans.member_id "
        "WHERE item_id = ? AND returned_on IS NULL",
        (item,),
    ).fetchone()
    return row


def lend(connection: sqlite3.Connection, item: int, member: str, today: date) -> date:
    """Lend an item to a member and return the day it is due."""
    if (
        connection.execute("SELECT 1 FROM items WHERE id = ?", (item,)).fetchone()
        is None
    ):
        raise ShelfError(f"there is no item {item}")
    held = open_loan(connection, item)
    if held is not None:
        raise ShelfError(
            f"item {item} is lent to {held['member']} until {held['due_on']}"
        )
    due = today + timedelta(days=LOAN_DAYS)
    with connection:
        connection.execute(
            "INSERT INTO loans (item_id, member_id, lent_on, due_on) VALUES (?, ?, ?, ?)",
            (
                item,
                find_member(connection, member)["id"],
                today.isoformat(),
                due.isoformat(),
            ),
        )
    return due


def take_back(connection: sqlite3.Connection, item: int, today: date) -> None:
    """End the open loan of an item."""
    held = open_loan(connection, item)
    if held is None:
        raise ShelfError(f"item {item} is not lent")
    with connection:
        connection.execute(
            "UPDATE loans SET returned_on = ? WHERE id = ?",
            (today.isoformat(), held["id"]),
        )


def loans_of_year(connection: sqlite3.Connection, year: int) -> list[sqlite3.Row]:
    """Return the loans whose first day lies in a year, oldest first."""
    return connection.execute(
        "SELECT items.name AS item, members.name AS member, lent_on, due_on, returned_on FROM loans "
        "JOIN items ON items.id = loans.item_id JOIN members ON members.id = loans.member_id "
        "WHERE lent_on LIKE ? ORDER BY lent_on, loans.id",
        (f"{year:04d}-%",),
    ).fetchall()
