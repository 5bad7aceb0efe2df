"""The results of the items of a run, stored compactly."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentos.item import Item, Outcome, State
from agentos.money import NO_COST, Cost
from agentos.repository.paths import document_path

NOT_STARTED = "not-started"
LOCKED = "held"
COMPLETE = "complete"
WAITING = "waiting"

COMPACT = (State.APPROVED, State.SKELETON, State.SIMULATED)
"""States that most items of a long run end in."""
_NUMBERS = struct.Struct("=dqqQQQ")
"""Seconds, lowest and highest cost, attempts, rounds and calls of one item."""


@dataclass(frozen=True, slots=True)
class Filed:
    """The result of filing an item in an issue tracker."""

    reference: str = ""
    """The created issue, as `owner/name#42`."""
    url: str = ""
    problem: str = ""
    """Why the item was not filed."""
    remark: str = ""
    """A note that the issue has an earlier text."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The result of one item in this run."""

    item: Item
    status: str
    """A state, or one of `not-started`, `waiting`, `held`, `complete`."""
    outcome: Outcome | None = None
    message: str = ""
    seconds: float = 0.0
    attempts: int = 0
    log: str = ""
    artefact: str = ""
    cost: Cost = NO_COST
    filed: Filed | None = None
    """None if filing was not requested."""

    @property
    def is_failed(self) -> bool:
        """Whether the item failed."""
        return self.status == State.FAILED


class ResultRows:
    """The row of every item, in the order of the items.

    Most items of a long run end in one of a few states, and their rows differ only in a
    few numbers. Only these numbers are stored, and the row is built when it is read.
    All other rows are stored as they are.
    """

    def __init__(self, items: Sequence[Item], folder: str) -> None:
        self._items = items
        self._folder = folder
        self._states = bytearray(len(items))
        """The index of the state in `COMPACT` plus one; 0 for rows without numbers."""
        self._numbers = bytearray(len(items) * _NUMBERS.size)
        self._findings: dict[int, tuple[str, ...]] = {}
        self._others: dict[int, ResultRow] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ResultRow]:
        for position in range(len(self)):
            yield self[position]

    def __getitem__(self, position: int) -> ResultRow:
        item = self._items[position]
        number = self._states[position]
        if not number:
            if position in self._others:
                return self._others[position]
            return ResultRow(item, NOT_STARTED)
        state = COMPACT[number - 1]
        start = position * _NUMBERS.size
        numbers = _NUMBERS.unpack_from(self._numbers, start)
        seconds, known, most, attempts, rounds, calls = numbers
        findings = self._findings.get(position, ())
        outcome = Outcome(state, rounds=rounds, calls=calls, findings=findings)
        log = ""
        if attempts:
            log = log_path(self._folder, item)
        return ResultRow(
            item=item,
            status=state,
            outcome=outcome,
            seconds=seconds,
            attempts=attempts,
            log=log,
            artefact=document_path(item.kind, item.id),
            cost=Cost(known, most),
        )

    def put(self, position: int, row: ResultRow) -> None:
        """Store the result of an item."""
        outcome = row.outcome
        if outcome is None or row.filed is not None or outcome.state not in COMPACT:
            self._others[position] = row
            return
        if outcome.questions:
            self._others[position] = row
            return
        if outcome.findings:
            self._findings[position] = outcome.findings
        _NUMBERS.pack_into(
            self._numbers,
            position * _NUMBERS.size,
            row.seconds,
            row.cost.known,
            row.cost.most,
            row.attempts,
            outcome.rounds,
            outcome.calls,
        )
        number = COMPACT.index(outcome.state) + 1
        # Last, so that another thread never reads half a row.
        self._states[position] = number


class Chain:
    """Several collections of rows as one that can be iterated repeatedly."""

    def __init__(self, parts: Sequence[Iterable[ResultRow]]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[ResultRow]:
        return itertools.chain(*self._parts)


def log_path(folder: str, item: Item) -> str:
    """Return the path of an item's log."""
    return f"{folder}/{item.label}.log"
