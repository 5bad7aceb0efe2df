"""State of all keys on disk, shared by all AgentOS processes of a user.

Each method is one transaction. Times must make sense to another process and after a
restart, and no change of the wall clock may lengthen a rest or empty a minute: they
count from the boot, plus the wall clock time that the first process of that boot saw.
A lease belongs to a process: it ends when it is released, when the process has died, or
when the process has not updated its entry for a while (it may run in another container,
where its pid means nothing to us).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from agentos.errors import ProviderError, UsageError
from agentos.gateway.keys.limits import QuotaState, Use
from agentos.state.processes import own_birth, process_birth
from agentos.state.redaction import redact

VERSION = 4
OWNER_LIFE = 60.0
BUSY_TIMEOUT = 10.0
LONGEST_REST = 86_400.0
_STATE_COLUMNS = [field.name for field in fields(QuotaState)]
_CLOCKS = "CREATE TABLE IF NOT EXISTS clocks (boot TEXT PRIMARY KEY, ahead REAL)"
_SCHEMA = f"""
CREATE TABLE standings (name TEXT PRIMARY KEY, {", ".join(_STATE_COLUMNS)});
CREATE TABLE dead_keys (key TEXT PRIMARY KEY, reason TEXT NOT NULL);
CREATE TABLE owners (id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER, birth TEXT, place TEXT, seen REAL);
CREATE TABLE leases (id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER, key TEXT, grp TEXT, model TEXT, since REAL);
CREATE TABLE sent (lease INTEGER PRIMARY KEY, grp TEXT, at REAL, tokens INTEGER);
CREATE INDEX sent_by_group ON sent (grp, at);
CREATE TABLE waiting (ticket INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER, provider TEXT);
"""


class Tokens(StrEnum):
    """Which tokens a limit counts, as an SQL condition on sent rows."""

    ALL = "1"
    INPUT = "lease > 0"
    OUTPUT = "lease < 0"


class Store:
    """This process's connection to the shared state."""

    def __init__(
        self, path: Path | str, clock: Callable[[], float] | None = None
    ) -> None:
        self._path = path
        self._database = _open(path)
        self._checked_owners_at = 0.0
        self._given_up: set[tuple[str, int]] = set()
        try:
            with self._transaction() as database:
                self.clock = clock or _agree_on_clock(database)
                cursor = database.execute(
                    "INSERT INTO owners (pid, birth, place, seen) VALUES (?, ?, ?, ?)",
                    (os.getpid(), own_birth(), _place(), self.clock()),
                )
                self._owner = cursor.lastrowid
        except ProviderError as error:
            self._database.close()
            raise UsageError(str(error)) from error

    def close(self) -> None:
        """Release everything and close."""
        # If that cannot be written, as on a full disk, the others will notice that this
        # process has died.
        with suppress(ProviderError), self._transaction() as database:
            _forget_owner(database, self._owner)
        self._database.close()

    def give_up(self, table: str, number: int) -> None:
        """Drop a lease or a ticket with the next transaction that can be written."""
        self._given_up.add((table, number))

    @contextmanager
    def exclusively(self) -> Iterator[PoolTransaction]:
        """Read and change the state in one transaction."""
        with self._transaction() as database:
            now = self.clock()
            self._renew_owner(database, now)
            # A copy: what is given up while this transaction runs, or before one that
            # fails, is deleted by a later one.
            given_up = frozenset(self._given_up)
            for table, number in given_up:
                database.execute(
                    f"DELETE FROM {table} WHERE rowid = ? AND owner = ?",
                    (number, self._owner),
                )
            yield PoolTransaction(database, self._owner or 0, now)
        self._given_up -= given_up

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
        except sqlite3.Error as error:
            raise ProviderError(_explain(self._path, error), "infra") from error

    def _renew_owner(self, database: sqlite3.Connection, now: float) -> None:
        """Update the entry of this process once a second, and remove dead processes."""
        if 0 <= now - self._checked_owners_at < 1.0:
            return
        self._checked_owners_at = now
        changed = database.execute(
            "UPDATE owners SET seen = ? WHERE id = ?", (now, self._owner)
        ).rowcount
        if not changed:
            # Others considered us dead, as after a suspend: our leases are gone, but
            # new ones are allowed.
            database.execute(
                "INSERT INTO owners VALUES (?, ?, ?, ?, ?)",
                (self._owner, os.getpid(), own_birth(), _place(), now),
            )
        for owner, pid, birth, place, seen in database.execute(
            "SELECT * FROM owners"
        ).fetchall():
            is_gone = place == _place() and process_birth(pid) != birth
            if owner != self._owner and (is_gone or abs(now - seen) > OWNER_LIFE):
                _forget_owner(database, owner)


class PoolTransaction:
    """The shared state inside one transaction."""

    def __init__(self, database: sqlite3.Connection, owner: int, now: float) -> None:
        self._database = database
        self._owner = owner
        self.now = now

    def quota_state(self, name: str) -> QuotaState:
        """Return the state of a group or model."""
        row = self._database.execute(
            f"SELECT {', '.join(_STATE_COLUMNS)} FROM standings WHERE name = ?", (name,)
        ).fetchone()
        return QuotaState() if row is None else _to_state(row)

    def set_quota_state(self, name: str, state: QuotaState) -> None:
        """Store the state of a group or model."""
        values = [name, *asdict(replace(state, dead=redact(state.dead))).values()]
        columns = ", ".join(("name", *_STATE_COLUMNS))
        places = ", ".join("?" * len(values))
        self._database.execute(
            f"INSERT OR REPLACE INTO standings ({columns}) VALUES ({places})", values
        )

    def dead_keys(self) -> Mapping[str, str]:
        """Return the refused keys with the reasons."""
        return dict(
            self._database.execute("SELECT key, reason FROM dead_keys").fetchall()
        )

    def bury(self, key: str, reason: str) -> None:
        """Store that a key is refused."""
        self._database.execute(
            "INSERT OR REPLACE INTO dead_keys VALUES (?, ?)", (key, redact(reason))
        )

    def revive(self, keys: Sequence[str]) -> None:
        """Allow refused keys again."""
        self._database.executemany(
            "DELETE FROM dead_keys WHERE key = ?", [(key,) for key in keys]
        )

    def under_way(self, column: str, value: str) -> int:
        """Return the number of calls with a `key`, of a group (`grp`) or to a `model`."""
        query = f"SELECT count(*) FROM leases WHERE {column} = ?"
        return int(self._database.execute(query, (value,)).fetchone()[0])

    def in_window(self, group: str, window: float) -> Use:
        """Return what the calls of the last minute have used."""
        # Rows in the future come from a clock that was set back; they must not count
        # forever.
        self._database.execute(
            "DELETE FROM sent WHERE at < ? OR at > ?",
            (self.now - 2 * window, self.now + window),
        )
        requests, given, returned, oldest = self._database.execute(
            "SELECT count(CASE WHEN lease > 0 THEN 1 END), coalesce(sum(CASE WHEN lease"
            " > 0 THEN tokens END), 0), coalesce(sum(CASE WHEN lease < 0 THEN tokens"
            " END), 0), min(CASE WHEN lease > 0 THEN at END) FROM sent WHERE grp = ?"
            " AND at > ?",
            (group, self.now - window),
        ).fetchone()
        return Use(
            int(requests), int(given), int(returned), (oldest or self.now) + window
        )

    def leaves_window_at(
        self, group: str, window: float, tokens: int, kind: Tokens
    ) -> float:
        """Return when so many tokens will have left the last minute."""
        gone = 0
        rows = self._database.execute(
            f"SELECT at, tokens FROM sent WHERE grp = ? AND at > ? AND {kind} ORDER"
            " BY at",
            (group, self.now - window),
        )
        for at, amount in rows:
            gone += amount
            if gone >= tokens:
                return float(at) + window
        return self.now + window

    def lend(self, key: str, group: str, model: str, given: int, returned: int) -> int:
        """Store a call with its expected tokens and return the number of its lease."""
        cursor = self._database.execute(
            "INSERT INTO leases (owner, key, grp, model, since) VALUES (?, ?, ?, ?, ?)",
            (self._owner, key, group, model, self.now),
        )
        lease = int(cursor.lastrowid or 0)
        rows = [(lease, group, self.now, given), (-lease, group, self.now, returned)]
        self._database.executemany(
            "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?)", rows
        )
        return lease

    def redate(self, lease: int) -> None:
        """Count a call from now on instead of from its lease."""
        self._database.execute(
            "UPDATE sent SET at = ? WHERE lease IN (?, ?)", (self.now, lease, -lease)
        )

    def end_lease(self, lease: int, given: int | None, returned: int = 0) -> None:
        """Store the end of a call with its actual tokens; None removes it from the
        minute.

        Output tokens count from now on: some providers count them when they are
        produced, and for one that counts them with the request this is merely cautious.
        They have a row of their own, with the negated number.
        """
        self._database.execute(
            "DELETE FROM leases WHERE id = ? AND owner = ?", (lease, self._owner)
        )
        if given is None:
            self._database.execute(
                "DELETE FROM sent WHERE lease IN (?, ?)", (lease, -lease)
            )
        else:
            self._database.execute(
                "UPDATE sent SET tokens = ? WHERE lease = ?", (given, lease)
            )
            self._database.execute(
                "UPDATE sent SET at = ?, tokens = ? WHERE lease = ?",
                (self.now, returned, -lease),
            )

    def queue(self, provider: str) -> int:
        """Take a ticket in the queue of all processes."""
        cursor = self._database.execute(
            "INSERT INTO waiting (owner, provider) VALUES (?, ?)",
            (self._owner, provider),
        )
        return int(cursor.lastrowid or 0)

    def is_first(self, ticket: int, provider: str) -> bool:
        """Return whether no earlier ticket waits; a lost ticket counts as first."""
        query = "SELECT 1 FROM waiting WHERE provider = ? AND ticket < ? LIMIT 1"
        return self._database.execute(query, (provider, ticket)).fetchone() is None

    def leave_queue(self, ticket: int) -> None:
        """Drop a ticket."""
        self._database.execute("DELETE FROM waiting WHERE ticket = ?", (ticket,))


def _forget_owner(database: sqlite3.Connection, owner: int | None) -> None:
    for table, column in (("leases", "owner"), ("waiting", "owner"), ("owners", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (owner,))


def _to_state(row: Sequence[Any]) -> QuotaState:
    values = dict(zip(_STATE_COLUMNS, row, strict=True))
    for name in ("is_cautious", "is_learned"):
        values[name] = bool(values[name])
    return QuotaState(**values)


def _open(path: Path | str) -> sqlite3.Connection:
    if isinstance(path, Path):
        # Created with its mode from the start, so that nobody else can open it.
        os.close(
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        )
    try:
        database = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        _enter_wal_mode(database)
        # A power loss can only take back leases of processes that it has ended, and the
        # latest rests.
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
        if version == 1:
            database.execute(
                "ALTER TABLE standings RENAME COLUMN probed_at TO probe_at"
            )
        if 0 < version < 4:
            present = {
                row[1] for row in database.execute("PRAGMA table_info(standings)")
            }
            for column in ("input_limit", "output_limit"):
                if column not in present:
                    database.execute(
                        f"ALTER TABLE standings ADD COLUMN {column} DEFAULT 0"
                    )
        if version < VERSION:
            database.execute(_CLOCKS)
            database.execute(f"PRAGMA user_version={VERSION}")
        database.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise UsageError(_explain(path, error)) from error
    if version > VERSION:
        raise UsageError(
            f"{path}: was written by a newer AgentOS; update this one, or set"
            " AGENTOS_HOME elsewhere"
        )
    return database


def _enter_wal_mode(database: sqlite3.Connection) -> None:
    """Enter WAL mode, waiting for another process that does the same: SQLite itself
    does not wait here.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if (
                error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                or time.monotonic() > deadline
            ):
                raise
        time.sleep(0.005)


def _explain(path: Path | str, error: sqlite3.Error) -> str:
    # On a full disk the WAL file cannot be created, which is an I/O error.
    full = "see that the disk has room and run again"
    remedies = {
        sqlite3.SQLITE_FULL: full,
        sqlite3.SQLITE_IOERR: full,
        sqlite3.SQLITE_BUSY: "run again",
    }
    remedy = remedies.get(
        getattr(error, "sqlite_errorcode", 0) & 0xFF,
        "remove it; its state will be learned again",
    )
    return f"{path}: cannot be used ({error}); {remedy}"


def _agree_on_clock(database: sqlite3.Connection) -> Callable[[], float]:
    """Return the clock of all processes of this boot; the first of them sets it by the
    wall clock.
    """
    boot = _boot()
    if not boot:
        return time.time
    row = database.execute(
        "SELECT ahead FROM clocks WHERE boot = ?", (boot,)
    ).fetchone()
    if row is not None:
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + row[0]
    ahead = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    database.execute("INSERT INTO clocks VALUES (?, ?)", (boot, ahead))
    # The clock of an earlier boot may have been far ahead.
    database.execute(
        "UPDATE standings SET resting_until = min(resting_until, ?)",
        (time.time() + LONGEST_REST,),
    )
    return lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + ahead


@cache
def _boot() -> str:
    """Return the id of this boot, empty where it is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


@cache
def _place() -> str:
    """Return the id of the pid namespace: this boot of this machine or container."""
    try:
        return f"{_boot()}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116
    except OSError:
        return "here"
