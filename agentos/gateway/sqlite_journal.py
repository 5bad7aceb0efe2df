"""The journal on disk: one SQLite database for every AgentOS process of this user.

Write-ahead log with full synchronisation: what a method has written survives a kill and a power loss once it returns.
A call is told to be lost when the process that sent it is gone, and a process by its number and time of birth.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from agentos.checkpoints import digest_row
from agentos.errors import ProviderError
from agentos.gateway import journal_file
from agentos.gateway.budget import UNLIMITED, Caps, Scope, Spending, admit
from agentos.gateway.journal import Begun, CallCost, RequestKey, Settled, item_key, keep_cost_within, keep_within
from agentos.money import Cost
from agentos.processes import own_birth, process_birth
from agentos.providers import Completion, Request, Usage
from agentos.redaction import redact
from agentos.wording import utc_now

KEPT_DAYS = 90
LOST = "the answer was lost; asked again"
DAMAGED = "the stored answer is damaged"


class SqliteJournal:
    """Keep calls in a database that many processes share; `notice` says what had to be set aside on opening."""

    waits_for_disk = True

    def __init__(self, path: Path, run: str, *, is_reader: bool = False) -> None:
        self._path = path
        self._run = run
        self._gone: set[tuple[int, str]] = set()
        # Items are forgotten by other threads than the one that asks.
        self._lock = threading.Lock()
        self.notice = ""
        if is_reader:
            self._database = journal_file.open_to_read(path)
        else:
            self._database, self.notice = journal_file.open_or_create(path)
            self._drop_old()
        self._known = journal_file.known_column(self._database)

    @classmethod
    def reader(cls, path: Path) -> Self | None:
        """Open a journal that is there for reading; create, tidy and set aside nothing."""
        return cls(path, "", is_reader=True) if os.path.lexists(path) else None

    def settled(self, key: RequestKey) -> Settled | None:
        """Return the answer to a request that was settled before; one that does not match its digest never was."""
        with self._transaction(immediate=False):
            row = self._execute(
                "SELECT id, known, cost, seconds, input_tokens, output_tokens, answers.model, text, digest FROM calls "
                "JOIN answers ON call = id WHERE item = ? AND question = ? AND state = 'settled' ORDER BY id DESC",
                key.item,
                key.question,
            ).fetchone()
        if row is None:
            return None
        call_id, known, cost, seconds, given, returned, model, text, digest = row
        if _digest(key.item, key.question, *row[2:-1]) != digest:
            with self._transaction():
                self._execute("UPDATE calls SET state = 'failed', reason = ? WHERE id = ?", DAMAGED, call_id)
                self._execute("DELETE FROM answers WHERE call = ?", call_id)
            return None
        answer = zlib.decompress(text).decode("utf-8", "surrogatepass")
        return Settled(Completion(answer, model.decode(), Usage(given, returned)), Cost(known, cost), seconds)

    def begin(self, key: RequestKey, request: Request, reservation: int, caps: Caps = UNLIMITED) -> Begun:
        """Write down a call before it is sent; the caps are checked in the same transaction."""
        reservation = keep_within(reservation)
        with self._transaction():
            moment = utc_now("milliseconds")
            scopes = {Scope.RUN: ("run", self._run), Scope.ITEM: ("item", key.item), Scope.DAY: ("day", moment[:10])}
            refusal = admit(caps, reservation, lambda scope: self._spending(*scopes[scope]))
            if refusal is not None:
                raise refusal
            is_repeated = self._write_off_lost(key)
            may_be_paid = not is_repeated and self._may_be_paid(key)
            row = (self._run, key.item, key.question, request.node, request.model, moment[:10], moment)
            state = (os.getpid(), own_birth(), "sent", is_repeated, reservation, reservation)
            cursor = self._execute(
                "INSERT INTO calls (run, item, question, node, model, day, sent_at, pid, birth, state, is_repeated, "
                "reservation, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *row,
                *state,
            )
            call_id = cursor.lastrowid or 0
        return Begun(call_id, is_repeated, may_be_paid)

    def settle(self, call_id: int, completion: Completion, cost: Cost, seconds: float) -> None:
        """Keep the answer and what it cost."""
        usage, cost, seconds = completion.usage, keep_cost_within(cost), float(seconds)
        given, returned = keep_within(usage.input_tokens), keep_within(usage.output_tokens)
        cached, written = keep_within(usage.cached_tokens), keep_within(usage.cache_written_tokens)
        model = completion.model.encode("utf-8", "replace")
        text = zlib.compress(completion.text.encode("utf-8", "surrogatepass"), level=1)
        with self._transaction():
            row = self._execute("SELECT item, question FROM calls WHERE id = ?", call_id).fetchone()
            if row is None:
                raise LookupError(f"no call {call_id} was begun")
            self._execute(
                "UPDATE calls SET state = 'settled', ended_at = ?, known = ?, cost = ?, seconds = ?, input_tokens = ?, "
                "output_tokens = ?, cached_tokens = ?, cache_written_tokens = ?, reason = '' WHERE id = ?",
                *(utc_now("milliseconds"), cost.known, cost.most, seconds, given, returned, cached, written, call_id),
            )
            digest = _digest(*row, cost.most, seconds, given, returned, model, text)
            self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", call_id, model, text, digest)

    def abandon(self, call_id: int, reason: str, cost: Cost) -> None:
        """Write down that a call failed and what it may have cost all the same."""
        cost = keep_cost_within(cost)
        with self._transaction():
            self._execute(
                "UPDATE calls SET state = 'failed', ended_at = ?, known = ?, cost = ?, reason = ? WHERE id = ?",
                *(utc_now("milliseconds"), cost.known, cost.most, redact(reason)[:500], call_id),
            )

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended; what they cost stays."""
        key = item_key(repository, workflow, item)
        with self._transaction():
            self._execute("DELETE FROM answers WHERE call IN (SELECT id FROM calls WHERE item = ?)", key)

    def spent(self, run: str | None = None, item: str | None = None, day: str | None = None) -> Cost:
        """Sum up what was spent: calls without an answer may have cost their reservation."""
        given = {"run": run, "item": item, "day": day}
        with self._transaction(immediate=False):
            return self._sum({column: value for column, value in given.items() if value is not None})

    def costs(self, run: str) -> list[CallCost]:
        """Return what a run's calls came to, by item, node and model."""
        return self._costs("run = ?", run)

    def costs_in(self, repository: str) -> list[CallCost]:
        """Return what all calls for a repository came to, by item, node and model."""
        # The names of items begin with that of their repository, and `0` is what follows `/`.
        return self._costs("item >= ? AND item < ?", f"{repository}/", f"{repository}0")

    def _costs(self, where: str, *values: str) -> list[CallCost]:
        with self._transaction(immediate=False):
            rows = self._execute(
                "SELECT item, node, model, COUNT(*), SUM(is_repeated), SUM(input_tokens), SUM(output_tokens), "
                f"SUM({self._known}), SUM(cost) FROM calls WHERE {where} "
                "GROUP BY item, node, model ORDER BY item, node, model",
                *values,
            ).fetchall()
        costs = []
        for item, node, model, calls, repeated, given, returned, known, most in rows:
            costs.append(CallCost(item, node, model, calls, repeated, given, returned, Cost(known, most)))
        return costs

    def repeated(self, run: str) -> int:
        """Return how many calls of a run were asked again because an answer was lost."""
        return sum(cost.repeated for cost in self.costs(run))

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def _drop_old(self) -> None:
        """Drop what lies behind the last days with calls; the clock has no say, for it may be wrong for one run."""
        beyond = self._execute(
            "SELECT DISTINCT day FROM calls ORDER BY day DESC LIMIT 1 OFFSET ?", KEPT_DAYS
        ).fetchone()
        if beyond is None:
            return
        with self._transaction():
            self._execute("DELETE FROM answers WHERE call IN (SELECT id FROM calls WHERE day <= ?)", *beyond)
            self._execute("DELETE FROM calls WHERE day <= ?", *beyond)

    def _write_off_lost(self, key: RequestKey) -> bool:
        """Close the books on earlier calls of this request whose answers are lost; return whether there are any."""
        rows = self._execute(
            "SELECT id, pid, birth, state FROM calls WHERE item = ? AND question = ? "
            "AND (state = 'sent' OR state = 'failed' AND reason = ?)",
            *(key.item, key.question, DAMAGED),
        ).fetchall()
        lost = [call for call, pid, birth, state in rows if state == "failed" or not self._is_alive(pid, birth)]
        for call in lost:
            ended = utc_now("milliseconds")
            self._execute("UPDATE calls SET state = 'failed', ended_at = ?, reason = ? WHERE id = ?", ended, LOST, call)
        return bool(lost)

    def _may_be_paid(self, key: RequestKey) -> bool:
        """Tell whether an earlier call for the same answer ended and may have been billed."""
        query = "SELECT 1 FROM calls WHERE item = ? AND question = ? AND state != 'sent' AND cost > 0 LIMIT 1"
        return self._execute(query, key.item, key.question).fetchone() is not None

    def _sum(self, given: dict[str, str]) -> Cost:
        where = "".join(f" AND {column} = ?" for column in given)
        query = f"SELECT COALESCE(SUM({self._known}), 0), COALESCE(SUM(cost), 0) FROM calls WHERE 1{where}"
        known, most = self._execute(query, *given.values()).fetchone()
        return Cost(int(known), int(most))

    def _spending(self, column: str, value: str) -> Spending:
        """Return what was spent within a scope, and on calls of which the cost is not known."""
        failed = f"FROM calls WHERE state = 'failed' AND cost > {self._known} AND {column} = ?"
        (uncertain,) = self._execute(f"SELECT COUNT(*) {failed}", value).fetchone()
        last = (
            self._execute(f"SELECT reason {failed} ORDER BY id DESC LIMIT 1", value).fetchone() if uncertain else None
        )
        under_way = self._execute(
            f"SELECT pid, birth, SUM(cost) FROM calls WHERE state = 'sent' AND {column} = ? GROUP BY pid, birth", value
        ).fetchall()
        return Spending(
            self._sum({column: value}),
            under_way=sum(total for pid, birth, total in under_way if self._is_alive(pid, birth)),
            uncertain=uncertain,
            last_failure=last[0] if last else "",
        )

    def _is_alive(self, pid: int, birth: str) -> bool:
        if (pid, birth) in self._gone:
            return False
        if (pid, birth) == (os.getpid(), own_birth()) or process_birth(pid) == birth:
            return True
        self._gone.add((pid, birth))
        return False

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._database.execute(statement, [_storable(value) for value in values])

    @contextmanager
    def _transaction(self, *, immediate: bool = True) -> Iterator[None]:
        """Do all of it or nothing; an immediate one waits until no other process writes, so that sums stand still."""
        with self._lock, self._explained():
            self._execute("BEGIN IMMEDIATE" if immediate else "BEGIN")
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if journal_file.is_damage(error):
                journal_file.suspect(self._path)
            raise ProviderError(f"{self._path}: the journal cannot be used ({error}); run again", "infra") from error


def _storable(value: object) -> object:
    """Return text as SQLite takes it: providers and command lines may hold what is no Unicode."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _digest(item: str, question: str, *rest: object) -> bytes:
    return digest_row(_storable(item), _storable(question), *rest)
