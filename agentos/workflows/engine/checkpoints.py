"""Verify, create and discard checkpoint databases, one SQLite file for each item.

SQLite has no checksums, so a flipped bit in a stored state would go unnoticed. Triggers
store a digest for every row that the graph library writes; `examine` recomputes the
digests before anything is resumed. What keeps a checkpoint elsewhere is in `stores.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from agentos.errors import CheckpointCorrupt
from agentos.state.databases import FRESH, companions, digest_row, set_aside
from agentos.state.files import FilePath, remove_file, write_new

_TABLES = {
    "checkpoints": (
        "thread_id, checkpoint_ns, checkpoint_id",
        "parent_checkpoint_id, type, checkpoint, metadata",
    ),
    "writes": (
        "thread_id, checkpoint_ns, checkpoint_id, task_id, idx",
        "task_path, channel, type, value",
    ),
}
_LIBRARY_TABLES = """
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT,
    type TEXT,
    checkpoint BLOB,
    metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE IF NOT EXISTS writes (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL DEFAULT '',
    checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    task_path TEXT NOT NULL DEFAULT '',
    idx INTEGER NOT NULL,
    channel TEXT NOT NULL,
    type TEXT,
    value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
"""
"""The tables of the graph library, for the coordinator, which does not import it."""
_META = (
    "CREATE TABLE IF NOT EXISTS agentos_meta (key TEXT PRIMARY KEY, value TEXT NOT"
    " NULL, digest BLOB NOT NULL)"
)


COLUMNS = {
    **{table: f"{key}, {rest}" for table, (key, rest) in _TABLES.items()},
    "agentos_meta": "key, value, digest",
}
"""The columns of each table that a checkpoint consists of."""

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner of a checkpoint; one of another input or graph version is not resumed."""

    workflow: str
    version: int
    item: str
    digest: str

    def to_json(self) -> Sequence[Any]:
        """Return the identity as JSON data."""
        return astuple(self)

    def to_text(self) -> str:
        """Return the identity in its stored form."""
        return f"{self.workflow}/{self.version}/{self.item}/{self.digest}"


def insert_rows(
    connection: sqlite3.Connection, table: str, rows: Iterable[Row]
) -> None:
    """Store and commit rows, in place of those with the same key."""
    columns = COLUMNS[table]
    places = ", ".join("?" * len(columns.split(",")))
    with connection:
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})", rows
        )


def clear_rows(connection: sqlite3.Connection) -> None:
    """Remove all rows, with their digests, in one transaction.

    A kill after it leaves a database without an identity, which is not resumed.
    """
    with connection:
        for table in _TABLES:
            connection.execute(f"DELETE FROM {table}")
            connection.execute(f"DELETE FROM agentos_{table}")
        connection.execute("DELETE FROM agentos_meta")


def connect(path: str) -> sqlite3.Connection:
    """Open a checkpoint database."""
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.create_function("agentos_digest", -1, digest_row, deterministic=True)
    return connection


_blank = b""
"""An empty database with all tables; the fork server makes it once for all its workers."""


def remember_blank(data: bytes) -> None:
    """Store the bytes of an empty database, of which new checkpoints become copies."""
    global _blank
    _blank = data


def create_digest_tables(connection: sqlite3.Connection) -> None:
    """Create our tables and triggers next to those of the graph library.

    One transaction creates all of them, so that a kill cannot leave only some.
    """
    connection.executescript(
        ";".join(["BEGIN", _META, *_trigger_statements(), "COMMIT"])
    )


def examine(path: Path, identity: Identity) -> str | None:
    """Make sure that the path holds a usable database or none; return a notice if one
    was removed.

    A database of another input is discarded; a damaged one is set aside, never deleted.
    """
    notice = _remove_unusable(path, identity)
    if not path.exists():
        # A write-ahead log without its database would be replayed into the new one.
        discard(path)
        _create_blank(path)
    return notice


def _remove_unusable(path: Path, identity: Identity) -> str | None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return (
            f"checkpoint was not an ordinary file; set aside as {set_aside(path).name},"
            " starting again"
        )
    if not path.exists():
        return None
    try:
        known = verify(path)
    except CheckpointCorrupt as error:
        return (
            f"checkpoint is damaged ({error}); set aside as {set_aside(path).name},"
            " starting again"
        )
    if known == identity.to_text():
        return None
    discard(path)
    if known:
        return "checkpoint is of an earlier input or version; starting again"
    return None


def _create_blank(path: Path) -> None:
    if _blank:
        fresh = path.with_name(path.name + FRESH)
        write_new(fresh, _blank, is_durable=False)
        fresh.rename(path)


def verify(path: Path) -> str | None:
    """Check every stored row against its digest; return the identity, None for an empty
    database.
    """
    try:
        with closing(sqlite3.connect(path)) as connection:
            return verify_connection(connection)
    except sqlite3.Error as error:
        raise CheckpointCorrupt(str(error)) from error


def verify_connection(connection: sqlite3.Connection) -> str | None:
    """Check an open database as `verify` does."""
    try:
        return _verify(connection)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise CheckpointCorrupt(str(error)) from error


def input_of(path: Path) -> str | None:
    """Return the hash of a checkpoint's input; empty for an empty database, None for a
    damaged one.
    """
    try:
        return (verify(path) or "").rpartition("/")[2]
    except CheckpointCorrupt:
        return None


def discard(path: FilePath) -> None:
    """Remove a checkpoint and its companion files."""
    for file in companions(path):
        remove_file(file)


def _verify(connection: sqlite3.Connection) -> str | None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise CheckpointCorrupt(str(verdict)[:120])
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in rows}
    if "agentos_meta" not in tables:
        for table in tables.intersection(_TABLES):
            if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
                raise CheckpointCorrupt("rows without digests")
        return None
    for table, (key, rest) in _TABLES.items():
        _verify_table(connection, table, f"{key}, {rest}", key)
    meta = {}
    for name, value, digest in connection.execute(
        "SELECT key, value, digest FROM agentos_meta"
    ):
        if digest_row(name, value) != digest:
            raise CheckpointCorrupt("a digest does not match in agentos_meta")
        meta[name] = value
    return meta.get("identity")


def _verify_table(
    connection: sqlite3.Connection, table: str, columns: str, key: str
) -> None:
    width = key.count(",") + 1
    digests = {}
    for row in connection.execute(f"SELECT {key}, digest FROM agentos_{table}"):
        digests[tuple(row[:width])] = row[width]
    for row in connection.execute(f"SELECT {columns} FROM {table}"):
        if digests.pop(tuple(row[:width]), None) != digest_row(*row):
            raise CheckpointCorrupt(f"a digest does not match in {table}")
    if digests:
        raise CheckpointCorrupt(f"a row is missing from {table}")


def _trigger_statements() -> list[str]:
    statements = []
    for table, (key, rest) in _TABLES.items():
        new_key = "NEW." + key.replace(", ", ", NEW.")
        new_rest = "NEW." + rest.replace(", ", ", NEW.")
        statements.append(
            f"CREATE TABLE IF NOT EXISTS agentos_{table} ({key}, digest, PRIMARY KEY"
            f" ({key}))"
        )
        statements.append(
            f"CREATE TRIGGER IF NOT EXISTS agentos_digest_{table} AFTER INSERT ON"
            f" {table} BEGIN INSERT OR REPLACE INTO agentos_{table} VALUES ({new_key},"
            f" agentos_digest({new_key}, {new_rest})); END"
        )
    return statements


class CheckpointFile:
    """Keeps the checkpoint of an item whose worker has a `RemoteStore`.

    A worker on another machine sends every row that it stores. It is in the file, in the
    same form as if the worker had written it, when the answer is returned.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what a message asks for; raise `sqlite3.Error` or `OSError` if it cannot be
        done.
        """
        if message["do"] == "open":
            return self._open(Identity(*message["identity"]))
        if self._connection is None:
            raise sqlite3.OperationalError("the checkpoint is not open")
        if message["do"] == "clear":
            clear_rows(self._connection)
        else:
            insert_rows(self._connection, message["table"], message["rows"])
        return {}

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, identity: Identity) -> dict[str, Any]:
        self.close()
        notice = examine(self._path, identity)
        connection = connect(str(self._path))
        self._connection = connection
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(_LIBRARY_TABLES)
        create_digest_tables(connection)
        tables = {}
        for table, columns in COLUMNS.items():
            tables[table] = connection.execute(
                f"SELECT {columns} FROM {table}"
            ).fetchall()
        return {"notice": notice, "tables": tables}
