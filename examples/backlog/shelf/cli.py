"""The `shelf` command."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from datetime import date

from shelf.loans import lend, take_back
from shelf.members import add_member
from shelf.migrate import migrate
from shelf.search import search
from shelf.store import ShelfError, connect


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(prog="shelf")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="bring the database to the newest schema")
    adding = commands.add_parser("add", help="add an item")
    adding.add_argument("name")
    joining = commands.add_parser("join", help="add a member")
    joining.add_argument("name")
    lending = commands.add_parser("lend", help="lend an item to a member")
    lending.add_argument("item", type=int)
    lending.add_argument("member")
    returning = commands.add_parser("return", help="take an item back")
    returning.add_argument("item", type=int)
    searching = commands.add_parser("search", help="find items by name")
    searching.add_argument("words")
    return parser


def run(args: argparse.Namespace, connection: sqlite3.Connection) -> str:
    """Do what was asked and return the line to show."""
    match args.command:
        case "migrate":
            return f"schema {migrate(connection)}"
        case "add":
            with connection:
                cursor = connection.execute(
                    "INSERT INTO items (name) VALUES (?)", (args.name,)
                )
            return f"item {cursor.lastrowid}: {args.name}"
        case "join":
            return f"member {add_member(connection, args.name)}: {args.name}"
        case "lend":
            due = lend(connection, args.item, args.member, date.today())
            return f"item {args.item} is lent to {args.member} until {due}"
        case "return":
            take_back(connection, args.item, date.today())
            return f"item {args.item} is back"
        case _:
            return (
                "\n".join(
                    f"{row['id']}  {row['name']}"
                    for row in search(connection, args.words)
                )
                or "nothing found"
            )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it worked, 1 when it could not be done."""
    args = build_parser().parse_args(argv)
    connection = connect()
    try:
        print(run(args, connection))
    except ShelfError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        connection.close()
    return 0
