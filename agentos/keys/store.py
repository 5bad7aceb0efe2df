"""The state of all keys on disk, shared by every AgentOS process of a user.

Each method is one transaction. Times have to make sense to another process and after a restart, and no change of the
wall clock may lengthen a rest or empty a minute: they are counted from the boot, and shown as on the wall when the
first process of that boot looked there. A lease belongs to a process: it ends with its release, or when that process
is gone, or when it has shown no sign of life for a while (it may live in another container, where its number means
nothing to us).
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
from agentos.keys.limits import Standing, Use
from agentos.processes import own_birth, process_birth
from agentos.redaction import redact

VERSION = 4
OWNER_LIFE = 60.0
BUSY_TIMEOUT = 10.0
LONGEST_REST = 86_400.0
_STANDING = [field.name for field in fields(Standing)]
_CLOCKS = "CREATE TABLE IF NOT EXISTS clocks (boot TEXT PRIMARY KEY, ahead REAL)"
_SCHEMA = f"""
CREATE TABLE standings (name TEXT PRIMARY KEY, {", ".join(_STANDING)});
CREATE TABLE dead_keys (key TEXT PRIMARY KEY, reason TEXT NOT NULL);
CREATE TABLE owners (id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER, birth TEXT, place TEXT, seen REAL);
CREATE TABLE leases (id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER, key TEXT, grp TEXT, model TEXT, since REAL);
CREATE TABLE sent (lease INTEGER PRIMARY KEY, grp TEXT, at REAL, tokens INTEGER);
CREATE INDEX sent_by_group ON sent (grp, at);
CREATE TABLE waiting (ticket INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER, provider TEXT);
"""


class Tokens(StrEnum):
    """Which tokens a limit counts, as a condition on the rows of what was sent."""

    ALL = "1"
    INPUT = "lease > 0"
    OUTPUT = "lease < 0"


class Store:
    """One process's connection to the shared state."""

    def __init__(self, path: Path | str, clock: Callable[[], float] | None = None) -> None:
        self._path = path
        self._database = _open(path)
        self._looked_for_dead = 0.0
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
        """Give everything back and close."""
        # Where that cannot be written, as on a full disk, the others will see that this process is gone.
        with suppress(ProviderError), self._transaction() as database:
            _forget_owner(database, self._owner)
        self._database.close()

    def give_up(self, table: str, number: int) -> None:
        """Have a lease or a place in line end with the next step, or with a later one where that cannot be written."""
        self._given_up.add((table, number))

    @contextmanager
    def exclusively(self) -> Iterator[Books]:
        """Look at the state and change it as one step; no other process comes between."""
        with self._transaction() as database:
            now = self.clock()
            self._show_life(database, now)
            given_up = frozenset(self._given_up)
            for table, number in given_up:
                database.execute(f"DELETE FROM {table} WHERE rowid = ? AND owner = ?", (number, self._owner))
            yield Books(database, self._owner or 0, now)
        self._given_up -= given_up

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise ProviderError(_explain(self._path, error), "infra") from error

    def _show_life(self, database: sqlite3.Connection, now: float) -> None:
        """Say once a second that this process lives, and clear away what the dead have left."""
        if 0 <= now - self._looked_for_dead < 1.0:
            return
        self._looked_for_dead = now
        changed = database.execute("UPDATE owners SET seen = ? WHERE id = ?", (now, self._owner)).rowcount
        if not changed:
            # Others took us for dead, as after a long sleep of the machine: our leases are gone, not our right to new.
            database.execute(
                "INSERT INTO owners VALUES (?, ?, ?, ?, ?)", (self._owner, os.getpid(), own_birth(), _place(), now)
            )
        for owner, pid, birth, place, seen in database.execute("SELECT * FROM owners").fetchall():
            is_gone = place == _place() and process_birth(pid) != birth
            if owner != self._owner and (is_gone or abs(now - seen) > OWNER_LIFE):
                _forget_owner(database, owner)


class Books:
    """The shared state inside one transaction."""

    def __init__(self, database: sqlite3.Connection, owner: int, now: float) -> None:
        self._database = database
        self._owner = owner
        self.now = now

    def standing(self, name: str) -> Standing:
        """Return how a group or model stands."""
        row = self._database.execute(f"SELECT {', '.join(_STANDING)} FROM standings WHERE name = ?", (name,)).fetchone()
        return Standing() if row is None else _to_standing(row)

    def set_standing(self, name: str, standing: Standing) -> None:
        """Keep how a group or model stands."""
        values = [name, *asdict(replace(standing, dead=redact(standing.dead))).values()]
        columns = ", ".join(("name", *_STANDING))
        places = ", ".join("?" * len(values))
        self._database.execute(f"INSERT OR REPLACE INTO standings ({columns}) VALUES ({places})", values)

    def dead_keys(self) -> Mapping[str, str]:
        """Return the keys that are refused, with the reason."""
        return dict(self._database.execute("SELECT key, reason FROM dead_keys").fetchall())

    def bury(self, key: str, reason: str) -> None:
        """Keep in mind that a key is refused."""
        self._database.execute("INSERT OR REPLACE INTO dead_keys VALUES (?, ?)", (key, redact(reason)))

    def revive(self, keys: Sequence[str]) -> None:
        """Give refused keys another chance."""
        self._database.executemany("DELETE FROM dead_keys WHERE key = ?", [(key,) for key in keys])

    def under_way(self, column: str, value: str) -> int:
        """Return how many calls are under way with a `key`, of a group (`grp`) or to a `model`."""
        query = f"SELECT count(*) FROM leases WHERE {column} = ?"
        return int(self._database.execute(query, (value,)).fetchone()[0])

    def in_window(self, group: str, window: float) -> Use:
        """Return what the calls of the last minute have used."""
        # The clock may have been put back meanwhile: what lies ahead of it is not counted for ever.
        self._database.execute("DELETE FROM sent WHERE at < ? OR at > ?", (self.now - 2 * window, self.now + window))
        requests, given, returned, oldest = self._database.execute(
            "SELECT count(CASE WHEN lease > 0 THEN 1 END), coalesce(sum(CASE WHEN lease > 0 THEN tokens END), 0), "
            "coalesce(sum(CASE WHEN lease < 0 THEN tokens END), 0), min(CASE WHEN lease > 0 THEN at END) "
            "FROM sent WHERE grp = ? AND at > ?",
            (group, self.now - window),
        ).fetchone()
        return Use(int(requests), int(given), int(returned), (oldest or self.now) + window)

    def leaves_window_at(self, group: str, window: float, tokens: int, kind: Tokens) -> float:
        """Return when so many of the tokens of the last minute will have left it."""
        gone = 0
        rows = self._database.execute(
            f"SELECT at, tokens FROM sent WHERE grp = ? AND at > ? AND {kind} ORDER BY at", (group, self.now - window)
        )
        for at, amount in rows:
            gone += amount
            if gone >= tokens:
                return float(at) + window
        return self.now + window

    def lend(self, key: str, group: str, model: str, given: int, returned: int) -> int:
        """Note a call as under way, with the tokens that are expected, and return its number."""
        cursor = self._database.execute(
            "INSERT INTO leases (owner, key, grp, model, since) VALUES (?, ?, ?, ?, ?)",
            (self._owner, key, group, model, self.now),
        )
        lease = int(cursor.lastrowid or 0)
        rows = [(lease, group, self.now, given), (-lease, group, self.now, returned)]
        self._database.executemany("INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?)", rows)
        return lease

    def redate(self, lease: int) -> None:
        """Count a call from now on in the minute, and not from when it got its key."""
        self._database.execute("UPDATE sent SET at = ? WHERE lease IN (?, ?)", (self.now, lease, -lease))

    def end_lease(self, lease: int, given: int | None, returned: int = 0) -> None:
        """Note that a call has ended, with the tokens it really took; None takes it out of the minute altogether.

        Those of its output are counted from now on: some providers count them when they are there, and for one that
        counts them with the request this is only cautious. They have a row of their own, under the negated number.
        """
        self._database.execute("DELETE FROM leases WHERE id = ? AND owner = ?", (lease, self._owner))
        if given is None:
            self._database.execute("DELETE FROM sent WHERE lease IN (?, ?)", (lease, -lease))
        else:
            self._database.execute("UPDATE sent SET tokens = ? WHERE lease = ?", (given, lease))
            self._database.execute("UPDATE sent SET at = ?, tokens = ? WHERE lease = ?", (self.now, returned, -lease))

    def queue(self, provider: str) -> int:
        """Take a ticket in the line of all processes for a provider's keys."""
        cursor = self._database.execute("INSERT INTO waiting (owner, provider) VALUES (?, ?)", (self._owner, provider))
        return int(cursor.lastrowid or 0)

    def is_first(self, ticket: int, provider: str) -> bool:
        """Tell whether nobody waits longer; a ticket that was lost counts as first."""
        query = "SELECT 1 FROM waiting WHERE provider = ? AND ticket < ? LIMIT 1"
        return self._database.execute(query, (provider, ticket)).fetchone() is None

    def leave_queue(self, ticket: int) -> None:
        """Give a ticket up."""
        self._database.execute("DELETE FROM waiting WHERE ticket = ?", (ticket,))


def _forget_owner(database: sqlite3.Connection, owner: int | None) -> None:
    for table, column in (("leases", "owner"), ("waiting", "owner"), ("owners", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (owner,))


def _to_standing(row: Sequence[Any]) -> Standing:
    values = dict(zip(_STANDING, row, strict=True))
    for name in ("is_cautious", "is_learned"):
        values[name] = bool(values[name])
    return Standing(**values)


def _open(path: Path | str) -> sqlite3.Connection:
    if isinstance(path, Path):
        # Made with its mode from the start: nobody may look in between.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        database = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        _enter_wal_mode(database)
        # What a power loss takes back are leases of processes that it has ended, and a rest of the last moments.
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
        if version == 1:
            database.execute("ALTER TABLE standings RENAME COLUMN probed_at TO probe_at")
        if 0 < version < 4:
            present = {row[1] for row in database.execute("PRAGMA table_info(standings)")}
            for column in ("input_limit", "output_limit"):
                if column not in present:
                    database.execute(f"ALTER TABLE standings ADD COLUMN {column} DEFAULT 0")
        if version < VERSION:
            database.execute(_CLOCKS)
            database.execute(f"PRAGMA user_version={VERSION}")
        database.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise UsageError(_explain(path, error)) from error
    if version > VERSION:
        raise UsageError(f"{path}: was written by a newer AgentOS; update this one, or set AGENTOS_HOME elsewhere")
    return database


def _enter_wal_mode(database: sqlite3.Connection) -> None:
    """Wait for another process that makes the same change to a new database: here SQLite itself does not wait."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


def _explain(path: Path | str, error: sqlite3.Error) -> str:
    # The log that belongs to it cannot be made on a full disk: that is an I/O error.
    full = "see that the disk has room and run again"
    remedies = {sqlite3.SQLITE_FULL: full, sqlite3.SQLITE_IOERR: full, sqlite3.SQLITE_BUSY: "run again"}
    remedy = remedies.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "remove it, its state is learned anew")
    return f"{path}: cannot be used ({error}); {remedy}"


def _agree_on_clock(database: sqlite3.Connection) -> Callable[[], float]:
    """Return the clock of all processes of this boot; the first of them sets it by the wall clock."""
    boot = _boot()
    if not boot:
        return time.time
    row = database.execute("SELECT ahead FROM clocks WHERE boot = ?", (boot,)).fetchone()
    if row is not None:
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + row[0]
    ahead = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    database.execute("INSERT INTO clocks VALUES (?, ?)", (boot, ahead))
    # An earlier boot may have gone by a clock that was far ahead.
    database.execute("UPDATE standings SET resting_until = min(resting_until, ?)", (time.time() + LONGEST_REST,))
    return lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + ahead


@cache
def _boot() -> str:
    """Name this boot of this machine; empty where that cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


@cache
def _place() -> str:
    """Name the space in which process numbers mean something: this boot of this machine or container."""
    try:
        return f"{_boot()}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116
    except OSError:
        return "here"
