"""The journal on disk: one SQLite database for all AgentOS processes of a user.

It uses a write-ahead log with full synchronization: what a method has written survives
a kill and a power loss once it returns. A call is lost when the process that sent it,
identified by pid and start time, has died.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from agentos.errors import ProviderError
from agentos.gateway.budget import UNLIMITED, Caps, Scope, Spending, admit
from agentos.gateway.journal import (
    Begun,
    CallCost,
    RequestKey,
    Settled,
    item_key,
    keep_cost_within,
    keep_within,
)
from agentos.gateway.journal import file as journal_file
from agentos.gateway.providers import Completion, Request
from agentos.money import Cost
from agentos.state.databases import digest_row
from agentos.state.processes import own_birth, process_birth
from agentos.state.redaction import redact
from agentos.state.wording import utc_now
from agentos.usage import Usage

KEPT_DAYS = 90
LOST = "the answer was lost; asked again"
DAMAGED = "the stored answer is damaged"


class SqliteJournal:
    """Store calls in a database that many processes share; `notice` reports a damaged
    one that was set aside.
    """

    waits_for_disk = True

    def __init__(self, path: Path, run: str, *, is_reader: bool = False) -> None:
        self._path = path
        self._run = run
        self._gone: set[tuple[int, str]] = set()
        # Other threads than the asking one forget items.
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
        """Open an existing journal for reading, without creating or changing anything."""
        return cls(path, "", is_reader=True) if os.path.lexists(path) else None

    def settled(self, key: RequestKey) -> Settled | None:
        """Return the stored answer to a request, None without one or when its digest is
        wrong.
        """
        with self._transaction(immediate=False):
            row = self._execute(
                "SELECT id, known, cost, seconds, input_tokens, output_tokens,"
                " answers.model, text, digest FROM calls JOIN answers ON call = id"
                " WHERE item = ? AND question = ? AND state = 'settled' ORDER BY id"
                " DESC",
                key.item,
                key.question,
            ).fetchone()
        if row is None:
            return None
        call_id, known, cost, seconds, given, returned, model, text, digest = row
        if _digest(key.item, key.question, *row[2:-1]) != digest:
            with self._transaction():
                self._execute(
                    "UPDATE calls SET state = 'failed', reason = ? WHERE id = ?",
                    DAMAGED,
                    call_id,
                )
                self._execute("DELETE FROM answers WHERE call = ?", call_id)
            return None
        answer = zlib.decompress(text).decode("utf-8", "surrogatepass")
        return Settled(
            Completion(answer, model.decode(), Usage(given, returned)),
            Cost(known, cost),
            seconds,
        )

    def begin(
        self,
        key: RequestKey,
        request: Request,
        reservation: int,
        caps: Caps = UNLIMITED,
    ) -> Begun:
        """Record a call before it is sent; the caps are checked in the same
        transaction.
        """
        reservation = keep_within(reservation)
        with self._transaction():
            moment = utc_now("milliseconds")
            scopes = {
                Scope.RUN: ("run", self._run),
                Scope.ITEM: ("item", key.item),
                Scope.DAY: ("day", moment[:10]),
            }
            refusal = admit(
                caps, reservation, lambda scope: self._spending(*scopes[scope])
            )
            if refusal is not None:
                raise refusal
            is_repeated = self._write_off_lost(key)
            may_be_paid = not is_repeated and self._may_be_paid(key)
            row = (
                self._run,
                key.item,
                key.question,
                request.node,
                request.model,
                moment[:10],
                moment,
            )
            state = (
                os.getpid(),
                own_birth(),
                "sent",
                is_repeated,
                reservation,
                reservation,
            )
            cursor = self._execute(
                "INSERT INTO calls (run, item, question, node, model, day, sent_at,"
                " pid, birth, state, is_repeated, reservation, cost) VALUES (?, ?, ?,"
                " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *row,
                *state,
            )
            call_id = cursor.lastrowid or 0
        return Begun(call_id, is_repeated, may_be_paid)

    def settle(
        self, call_id: int, completion: Completion, cost: Cost, seconds: float
    ) -> None:
        """Store the answer of a call and its cost."""
        usage = completion.usage
        cost = keep_cost_within(cost)
        seconds = float(seconds)
        given = keep_within(usage.input_tokens)
        returned = keep_within(usage.output_tokens)
        cached = keep_within(usage.cached_tokens)
        written = keep_within(usage.cache_written_tokens)
        model = completion.model.encode("utf-8", "replace")
        text = zlib.compress(completion.text.encode("utf-8", "surrogatepass"), level=1)
        with self._transaction():
            row = self._execute(
                "SELECT item, question FROM calls WHERE id = ?", call_id
            ).fetchone()
            if row is None:
                raise LookupError(f"no call {call_id} was begun")
            self._execute(
                "UPDATE calls SET state = 'settled', ended_at = ?, known = ?, cost = ?,"
                " seconds = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,"
                " cache_written_tokens = ?, reason = '' WHERE id = ?",
                *(
                    utc_now("milliseconds"),
                    cost.known,
                    cost.most,
                    seconds,
                    given,
                    returned,
                    cached,
                    written,
                    call_id,
                ),
            )
            digest = _digest(*row, cost.most, seconds, given, returned, model, text)
            self._execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                call_id,
                model,
                text,
                digest,
            )

    def abandon(self, call_id: int, reason: str, cost: Cost) -> None:
        """Record that a call failed and what it may have cost."""
        cost = keep_cost_within(cost)
        with self._transaction():
            self._execute(
                "UPDATE calls SET state = 'failed', ended_at = ?, known = ?, cost = ?,"
                " reason = ? WHERE id = ?",
                *(
                    utc_now("milliseconds"),
                    cost.known,
                    cost.most,
                    redact(reason)[:500],
                    call_id,
                ),
            )

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended; their costs stay."""
        key = item_key(repository, workflow, item)
        with self._transaction():
            self._execute(
                "DELETE FROM answers WHERE call IN (SELECT id FROM calls WHERE item"
                " = ?)",
                key,
            )

    def spent(
        self, run: str | None = None, item: str | None = None, day: str | None = None
    ) -> Cost:
        """Sum the costs; calls without an answer may have cost their reservation."""
        given = {"run": run, "item": item, "day": day}
        with self._transaction(immediate=False):
            return self._sum(
                {column: value for column, value in given.items() if value is not None}
            )

    def costs(self, run: str) -> list[CallCost]:
        """Return the costs of a run by item, node and model."""
        return self._costs("run = ?", run)

    def costs_in(self, repository: str) -> list[CallCost]:
        """Return the costs of a repository by item, node and model."""
        # Item names start with the repository and a slash, and `0` is the character
        # after `/`.
        return self._costs("item >= ? AND item < ?", f"{repository}/", f"{repository}0")

    def _costs(self, where: str, *values: str) -> list[CallCost]:
        with self._transaction(immediate=False):
            rows = self._execute(
                "SELECT item, node, model, COUNT(*), SUM(is_repeated),"
                f" SUM(input_tokens), SUM(output_tokens), SUM({self._known}), SUM(cost)"
                f" FROM calls WHERE {where} GROUP BY item, node, model ORDER BY item,"
                " node, model",
                *values,
            ).fetchall()
        costs = []
        for item, node, model, calls, repeated, given, returned, known, most in rows:
            costs.append(
                CallCost(
                    item,
                    node,
                    model,
                    calls,
                    repeated,
                    given,
                    returned,
                    Cost(known, most),
                )
            )
        return costs

    def repeated(self, run: str) -> int:
        """Return how many calls of a run were repeated because an answer was lost."""
        return sum(cost.repeated for cost in self.costs(run))

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def _drop_old(self) -> None:
        """Drop all but the latest days with calls; the current time is not used, since
        the clock may be wrong.
        """
        beyond = self._execute(
            "SELECT DISTINCT day FROM calls ORDER BY day DESC LIMIT 1 OFFSET ?",
            KEPT_DAYS,
        ).fetchone()
        if beyond is None:
            return
        with self._transaction():
            self._execute(
                "DELETE FROM answers WHERE call IN (SELECT id FROM calls WHERE day"
                " <= ?)",
                *beyond,
            )
            self._execute("DELETE FROM calls WHERE day <= ?", *beyond)

    def _write_off_lost(self, key: RequestKey) -> bool:
        """Mark earlier calls of this request as failed if their answers are lost;
        return whether there were any.
        """
        rows = self._execute(
            "SELECT id, pid, birth, state FROM calls WHERE item = ? AND question = ? "
            "AND (state = 'sent' OR state = 'failed' AND reason = ?)",
            *(key.item, key.question, DAMAGED),
        ).fetchall()
        lost = [
            call
            for call, pid, birth, state in rows
            if state == "failed" or not self._is_alive(pid, birth)
        ]
        for call in lost:
            ended = utc_now("milliseconds")
            self._execute(
                "UPDATE calls SET state = 'failed', ended_at = ?, reason = ? WHERE"
                " id = ?",
                ended,
                LOST,
                call,
            )
        return bool(lost)

    def _may_be_paid(self, key: RequestKey) -> bool:
        """Return whether an earlier call for the same answer ended and may have been
        billed.
        """
        query = (
            "SELECT 1 FROM calls WHERE item = ? AND question = ? AND state != 'sent'"
            " AND cost > 0 LIMIT 1"
        )
        return self._execute(query, key.item, key.question).fetchone() is not None

    def _sum(self, given: dict[str, str]) -> Cost:
        where = "".join(f" AND {column} = ?" for column in given)
        query = (
            f"SELECT COALESCE(SUM({self._known}), 0), COALESCE(SUM(cost), 0) FROM calls"
            f" WHERE 1{where}"
        )
        known, most = self._execute(query, *given.values()).fetchone()
        return Cost(int(known), int(most))

    def _spending(self, column: str, value: str) -> Spending:
        """Return the costs within a scope, with the calls of unknown cost."""
        failed = (
            f"FROM calls WHERE state = 'failed' AND cost > {self._known} AND"
            f" {column} = ?"
        )
        (uncertain,) = self._execute(f"SELECT COUNT(*) {failed}", value).fetchone()
        last_failure = ""
        if uncertain:
            (last_failure,) = self._execute(
                f"SELECT reason {failed} ORDER BY id DESC LIMIT 1", value
            ).fetchone()
        under_way = self._execute(
            f"SELECT pid, birth, SUM(cost) FROM calls WHERE state = 'sent' AND {column}"
            " = ? GROUP BY pid, birth",
            value,
        ).fetchall()
        return Spending(
            self._sum({column: value}),
            under_way=sum(
                total for pid, birth, total in under_way if self._is_alive(pid, birth)
            ),
            uncertain=uncertain,
            last_failure=last_failure,
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
        """Run the block in a transaction; an immediate one waits for other writers, so
        that sums stay valid.
        """
        with self._lock, self._explained(), self._database:
            self._execute("BEGIN IMMEDIATE" if immediate else "BEGIN")
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if journal_file.is_damage(error):
                journal_file.suspect(self._path)
            raise ProviderError(
                f"{self._path}: the journal cannot be used ({error}); run again",
                "infra",
            ) from error


def _storable(value: object) -> object:
    """Return text as SQLite accepts it: providers and command lines may contain lone
    surrogates.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value


def _digest(item: str, question: str, *rest: object) -> bytes:
    return digest_row(_storable(item), _storable(question), *rest)
