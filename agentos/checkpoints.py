"""One SQLite checkpoint database for each item: trust it or set it aside, begin it, discard it.

SQLite has no checksums, so a flipped bit in a stored state would go unseen. Triggers write a digest beside every
row that the graph library stores; `examine` recomputes them before anything is resumed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import CheckpointCorrupt
from agentos.files import write_new

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
_META = "CREATE TABLE IF NOT EXISTS agentos_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, digest BLOB NOT NULL)"
FRESH = "-fresh"
_COMPANIONS = ("", "-wal", "-shm", "-journal", FRESH)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint belongs to; one of another input or workflow version is not resumed."""

    workflow: str
    version: int
    item: str
    digest: str

    def to_text(self) -> str:
        """Return the identity as stored."""
        return f"{self.workflow}/{self.version}/{self.item}/{self.digest}"


_blank = b""
"""A database with all its tables and nothing in them, kept by the fork server so that no worker has to make them."""


def remember_blank(data: bytes) -> None:
    """Keep the bytes of an empty database; from now on a new checkpoint begins as a copy of it."""
    global _blank
    _blank = data


def create_digest_tables(connection: sqlite3.Connection) -> None:
    """Create our tables and triggers beside those of the graph library.

    One transaction: a kill in the middle must not leave some of them.
    """
    connection.executescript(";".join(["BEGIN", _META, *_trigger_statements(), "COMMIT"]))


def examine(path: Path, identity: Identity) -> str | None:
    """Make the path fit to be opened; return a notice when something there had to be put away.

    A database of another input is discarded; one that cannot be trusted is set aside, never deleted.
    """
    notice = _put_away(path, identity)
    if not path.exists():
        # A write-ahead log without its database would be replayed into the new one.
        discard(path)
        _put_blank(path)
    return notice


def _put_away(path: Path, identity: Identity) -> str | None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return f"checkpoint was not an ordinary file; set aside as {set_aside(path).name}, starting again"
    if not path.exists():
        return None
    try:
        known = verify(path)
    except CheckpointCorrupt as error:
        return f"checkpoint is damaged ({error}); set aside as {set_aside(path).name}, starting again"
    if known == identity.to_text():
        return None
    discard(path)
    return "checkpoint is of an earlier input or version; starting again" if known else None


def _put_blank(path: Path) -> None:
    if _blank:
        fresh = path.with_name(path.name + FRESH)
        write_new(fresh, _blank, is_durable=False)
        fresh.rename(path)


def verify(path: Path) -> str | None:
    """Check every stored row against its digest; return the identity, None in an empty database."""
    try:
        connection = sqlite3.connect(path)
        try:
            return _verify(connection)
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise CheckpointCorrupt(str(error)) from error


def input_of(path: Path) -> str | None:
    """Return the hash of the input that a checkpoint belongs to, empty in an empty one, None in a damaged one."""
    try:
        return (verify(path) or "").rpartition("/")[2]
    except CheckpointCorrupt:
        return None


def discard(path: Path) -> None:
    """Remove a checkpoint that nobody needs any more."""
    for companion in _COMPANIONS:
        path.with_name(path.name + companion).unlink(missing_ok=True)


def set_aside(path: Path) -> Path:
    """Rename a checkpoint that cannot be used, so that a person can look at it."""
    number = 1
    while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    for companion in _COMPANIONS:
        old = path.with_name(path.name + companion)
        if old.exists() or old.is_symlink():
            old.rename(aside.with_name(aside.name + companion))
    return aside


def digest_row(*values: object) -> bytes:
    """Return a digest of a row's values in which no two different rows run together."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(f"{type(value).__name__}:{len(data)}:".encode())
        digest.update(data)
    return digest.digest()


def _verify(connection: sqlite3.Connection) -> str | None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise CheckpointCorrupt(str(verdict)[:120])
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "agentos_meta" not in tables:
        if any(connection.execute(f"SELECT 1 FROM {t} LIMIT 1").fetchone() for t in _TABLES if t in tables):
            raise CheckpointCorrupt("rows without digests")
        return None
    for table, (key, rest) in _TABLES.items():
        _verify_table(connection, table, f"{key}, {rest}", key)
    meta = {}
    for name, value, digest in connection.execute("SELECT key, value, digest FROM agentos_meta"):
        if digest_row(name, value) != digest:
            raise CheckpointCorrupt("a digest does not match in agentos_meta")
        meta[name] = value
    return meta.get("identity")


def _verify_table(connection: sqlite3.Connection, table: str, columns: str, key: str) -> None:
    width = key.count(",") + 1
    digests = {
        tuple(row[:width]): row[width] for row in connection.execute(f"SELECT {key}, digest FROM agentos_{table}")
    }
    for row in connection.execute(f"SELECT {columns} FROM {table}"):
        if digests.pop(tuple(row[:width]), None) != digest_row(*row):
            raise CheckpointCorrupt(f"a digest does not match in {table}")
    if digests:
        raise CheckpointCorrupt(f"a row is missing from {table}")


def _trigger_statements() -> list[str]:
    statements = []
    for table, (key, rest) in _TABLES.items():
        new = ", ".join(f"NEW.{column.strip()}" for column in f"{key}, {rest}".split(","))
        new_key = ", ".join(f"NEW.{column.strip()}" for column in key.split(","))
        statements.append(f"CREATE TABLE IF NOT EXISTS agentos_{table} ({key}, digest, PRIMARY KEY ({key}))")
        statements.append(
            f"CREATE TRIGGER IF NOT EXISTS agentos_digest_{table} AFTER INSERT ON {table} BEGIN "
            f"INSERT OR REPLACE INTO agentos_{table} VALUES ({new_key}, agentos_digest({new})); END"
        )
    return statements
