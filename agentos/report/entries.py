"""How the items of a run fared, kept small however many they are."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentos.money import NO_COST, Cost
from agentos.places import document_path
from agentos.task import Outcome, State, Task

NOT_STARTED = "not-started"
HELD = "held"
COMPLETE = "complete"
WAITING = "waiting"

_APPROVED = 1


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of the wish to have an item filed in a tracker."""

    reference: str = ""
    """Where it is, as `owner/name#42`."""
    url: str = ""
    problem: str = ""
    """Why it is not there."""
    remark: str = ""
    """What is to be known about it: that the text there is not the present one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How one item fared in this run."""

    task: Task
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
    """None when nobody wished it."""

    @property
    def is_failed(self) -> bool:
        """Whether the item failed."""
        return self.status == State.FAILED


class Entries:
    """The entry of every task, in the order of the tasks.

    Most items of a long run are approved, and approved items differ in a few numbers only: those are kept in columns,
    and the entry is made again when somebody looks. All others are kept as they are.
    """

    def __init__(self, tasks: Sequence[Task], folder: str) -> None:
        self._tasks = tasks
        self._folder = folder
        amount = len(tasks)
        self._kinds = bytearray(amount)
        self._seconds = array("d", bytes(8 * amount))
        self._known = array("q", bytes(8 * amount))
        self._most = array("q", bytes(8 * amount))
        self._counts = {
            name: array("L", bytes(array("L").itemsize * amount)) for name in ("attempts", "rounds", "calls")
        }
        self._findings: dict[int, tuple[str, ...]] = {}
        self._others: dict[int, Entry] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Entry]:
        return (self[position] for position in range(len(self._tasks)))

    def __getitem__(self, position: int) -> Entry:
        if not self._kinds[position]:
            return self._others.get(position) or Entry(self._tasks[position], NOT_STARTED)
        task = self._tasks[position]
        attempts, rounds, calls = (int(self._counts[name][position]) for name in ("attempts", "rounds", "calls"))
        return Entry(
            task=task,
            status=State.APPROVED,
            outcome=Outcome(State.APPROVED, rounds=rounds, calls=calls, findings=self._findings.get(position, ())),
            seconds=self._seconds[position],
            attempts=attempts,
            log=log_path(self._folder, task) if attempts else "",
            artefact=document_path(task.workflow, task.item),
            cost=Cost(self._known[position], self._most[position]),
        )

    def put(self, position: int, entry: Entry) -> None:
        """Keep how an item fared."""
        outcome = entry.outcome
        if entry.status != State.APPROVED or outcome is None or entry.filed is not None:
            self._others[position] = entry
            return
        if outcome.findings:
            self._findings[position] = outcome.findings
        self._seconds[position] = entry.seconds
        self._known[position], self._most[position] = entry.cost.known, entry.cost.most
        for name, number in (("attempts", entry.attempts), ("rounds", outcome.rounds), ("calls", outcome.calls)):
            self._counts[name][position] = number
        # Last: whoever looks meanwhile sees an item that has not ended, never half an entry.
        self._kinds[position] = _APPROVED


class Chain:
    """Several collections of entries one after the other, as often as somebody looks."""

    def __init__(self, parts: Sequence[Iterable[Entry]]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[Entry]:
        return itertools.chain(*self._parts)


def log_path(folder: str, task: Task) -> str:
    """Return where the output of an item is kept."""
    return f"{folder}/{task.label}.log"
