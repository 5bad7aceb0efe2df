"""Create, open and check the database file of the journal, and set aside a damaged one."""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from agentos.errors import AgentOSError, UsageError
from agentos.state.databases import set_aside
from agentos.state.files import sync_directory, sync_file, write_new

VERSION = 2
PATIENCE = 15.0
"""Seconds to wait for another process that is writing."""
CHECKED_WHOLE = 500_000
"""Size in bytes up to which a database is checked completely whenever it is opened,
which takes about a millisecond.
"""

_SCHEMA = (
    """CREATE TABLE calls (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL,
        item TEXT NOT NULL,
        question TEXT NOT NULL,
        node TEXT NOT NULL,
        model TEXT NOT NULL,
        day TEXT NOT NULL,
        sent_at TEXT NOT NULL,
        ended_at TEXT,
        pid INTEGER NOT NULL,
        birth TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('sent', 'settled', 'failed')),
        is_repeated INTEGER NOT NULL,
        reservation INTEGER NOT NULL CHECK (reservation >= 0),
        cost INTEGER NOT NULL CHECK (cost >= 0), -- the most that may be spent: the reservation while it is 'sent'
        input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        seconds REAL NOT NULL DEFAULT 0,
        reason TEXT NOT NULL DEFAULT '',
        known INTEGER NOT NULL DEFAULT 0, -- of the cost, what is known to be billed
        cached_tokens INTEGER NOT NULL DEFAULT 0,
        cache_written_tokens INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX calls_by_question ON calls (item, question)",
    "CREATE INDEX calls_by_run ON calls (run, cost)",
    "CREATE INDEX calls_by_day ON calls (day, cost)",
    "CREATE INDEX calls_under_way ON calls (pid, birth) WHERE state = 'sent'",
    (
        "CREATE TABLE answers (call INTEGER PRIMARY KEY, model BLOB NOT NULL, text BLOB"
        " NOT NULL, digest BLOB NOT NULL)"
    ),
    f"PRAGMA user_version = {VERSION}",
)

_FROM_1 = (
    "ALTER TABLE calls ADD COLUMN known INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE calls ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE calls ADD COLUMN cache_written_tokens INTEGER NOT NULL DEFAULT 0",
    # A settled call was billed. Of a failed one, the first version stored only the
    # highest possible cost.
    "UPDATE calls SET known = cost WHERE state = 'settled'",
    "PRAGMA user_version = 2",
)


class _Damage(AgentOSError):
    """The file is not a valid journal."""


def open_or_create(path: Path) -> tuple[sqlite3.Connection, str]:
    """Return the open database, and a notice when a damaged one was set aside."""
    with suppress(_Damage, sqlite3.Error, OSError):
        return _connect(path, "rw"), ""
    try:
        # Only one process at a time creates a database or sets one aside; the others
        # find its result.
        with _locked(path.parent):
            notice = ""
            try:
                if os.path.lexists(path):
                    return _connect(path, "rw"), ""
            except _Damage as error:
                aside = set_aside(path)
                notice = (
                    f"{path.name} is damaged ({error}); set aside as {aside.name}, what"
                    " was spent counts from 0"
                )
            _create(path)
            return _connect(path, "rw"), notice
    except (sqlite3.Error, OSError) as error:
        raise UsageError(
            f"{path}: cannot be opened ({error}); set AGENTOS_HOME elsewhere"
        ) from error


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open an existing database for reading, without creating or moving anything."""
    try:
        return _connect(path, "ro")
    except _Damage as error:
        raise UsageError(
            f"{path}: is damaged ({error}); the next run sets it aside"
        ) from error
    except (sqlite3.Error, OSError) as error:
        raise UsageError(
            f"{path}: cannot be read ({error}); check its permissions"
        ) from error


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means a damaged file, not a full disk or a lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def suspect(path: Path) -> None:
    """Make the next process that opens the database check it completely."""
    with suppress(OSError):
        write_new(_suspicion(path), b"")


def _suspicion(path: Path) -> Path:
    return path.with_name(f"{path.name}-suspect")


def _create(path: Path) -> None:
    """Create an empty journal beside the path and rename it, so that nobody sees an
    incomplete one.
    """
    # The log of a removed journal would be replayed into the new one.
    for companion in ("-wal", "-shm", "-suspect"):
        path.with_name(path.name + companion).unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    write_new(temporary, b"", is_durable=False)
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
            for statement in (
                "PRAGMA synchronous = OFF",
                "PRAGMA journal_mode = WAL",
                "BEGIN",
                *_SCHEMA,
                "COMMIT",
            ):
                database.execute(statement)
        sync_file(temporary)
        temporary.rename(path)
        sync_directory(path.parent)
    finally:
        for companion in ("", "-wal", "-shm"):
            temporary.with_name(temporary.name + companion).unlink(missing_ok=True)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise _Damage("it is not an ordinary file")
    database = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        # The journal has a lock of its own.
        check_same_thread=False,
    )
    with ExitStack() as unless_usable:
        unless_usable.callback(database.close)
        try:
            _check(database, path)
            if mode == "rw":
                _upgrade(database)
            database.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            if is_damage(error):
                raise _Damage(str(error)) from error
            raise
        unless_usable.pop_all()
    return database


def _check(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a journal of a newer AgentOS, and a damaged one as far as a quick check
    shows.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise UsageError(
            f"{path}: is of a newer AgentOS (version {version}, this one knows"
            f" {VERSION}); update AgentOS or set AGENTOS_HOME elsewhere"
        )
    tables = {
        name
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )
    }
    if version < 1 or not {"calls", "answers"} <= tables:
        raise _Damage("it is not a journal")
    if path.stat().st_size <= CHECKED_WHOLE or _suspicion(path).exists():
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _Damage(str(verdict)[:120])


def _upgrade(database: sqlite3.Connection) -> None:
    """Upgrade a journal of an earlier version, unless another process just did."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        for statement in _FROM_1 if version == 1 else ():
            database.execute(statement)


def known_column(database: sqlite3.Connection) -> str:
    """Return the SQL expression of the known cost; a reader may open a journal of
    version 1.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return "known" if version > 1 else "CASE state WHEN 'settled' THEN cost ELSE 0 END"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
