"""What the server saw: every call, what became of it, and what it cost.

The file has one JSON object a line: `started` with the window, `arrived` when a call is
admitted, `refused` when it is not, `done` when the answer was sent or its caller had
left. `clock` is the machine's monotonic clock, so that files of servers that followed
each other can be read as one.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO


@dataclass(frozen=True, slots=True)
class Entry:
    """One call."""

    id: str
    at: float
    """When it arrived, by the wall clock."""
    clock: float
    key: str
    """Fingerprint of the key, never the key."""
    group: str
    format: str
    model: str
    prompt: str
    """Hash of the prompt."""
    item: str
    purpose: str
    is_admitted: bool
    input_tokens: int
    status: int = 0
    reason: str = ""
    """Why it was refused or what spoiled it: the kind of fault or limit."""
    delay: float | None = None
    """What the caller was told to wait."""
    output_tokens: int = 0
    cost: float = 0.0
    done_clock: float | None = None
    has_left: bool = False
    """Whether the caller disconnected before the end."""

    @property
    def is_done(self) -> bool:
        """Tell whether the answer came to its end, whatever end that was."""
        return self.done_clock is not None


@dataclass(frozen=True, slots=True)
class Peak:
    """The most that any window held."""

    requests: int = 0
    tokens: int = 0
    offered: int = 0
    """Requests with those that were refused."""
    at_once: int = 0
    """Answers that were under way together."""


class Ledger:
    """Entries in the order of their arrival; safe to read from any thread."""

    def __init__(self, window: float = 60.0, file: TextIO | None = None) -> None:
        self.window = window
        self._file = file
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()

    def start(self, window: float, clock: float, at: float) -> None:
        """Note that a server begins, or goes on by another script."""
        self.window = window
        self._write({"event": "started", "window": window, "clock": clock, "at": at})

    def add(self, entry: Entry) -> None:
        """Note a call that was admitted or refused."""
        with self._lock:
            self._entries[entry.id] = entry
        self._write(
            {"event": "arrived" if entry.is_admitted else "refused", **asdict(entry)}
        )

    def finish(self, id: str, **changes: Any) -> None:
        """Note the end of an answer."""
        with self._lock:
            if id in self._entries:
                self._entries[id] = replace(self._entries[id], **changes)
        self._write({"event": "done", "id": id, **changes})

    def calls(self, group: str = "", item: str = "") -> list[Entry]:
        """Return the calls, all of them or those of a group or an item."""
        with self._lock:
            entries = list(self._entries.values())
        return [
            entry
            for entry in entries
            if group in ("", entry.group) and item in ("", entry.item)
        ]

    def admitted(self) -> list[Entry]:
        """Return the calls that an answer was begun for."""
        return [entry for entry in self.calls() if entry.is_admitted]

    def repeated(self) -> dict[tuple[str, str], int]:
        """Return prompt hash and model of what was admitted more than once, and how
        often.
        """
        counts = Counter((entry.prompt, entry.model) for entry in self.admitted())
        return {asked: count for asked, count in counts.items() if count > 1}

    def bill(self, group: str = "") -> float:
        """Return what all answers cost, in dollars."""
        return sum(entry.cost for entry in self.calls(group))

    def rejected_share(self) -> float:
        """Return the share of calls that were answered 429."""
        entries = self.calls()
        return (
            sum(entry.status == 429 for entry in entries) / len(entries)
            if entries
            else 0.0
        )

    def most_in_window(self, group: str = "", window: float | None = None) -> Peak:
        """Return the most requests and tokens that any window saw of a group."""
        length = self.window if window is None else window
        admitted = [entry for entry in self.calls(group) if entry.is_admitted]
        tokens = [(entry.clock, entry.input_tokens) for entry in admitted]
        tokens += [
            (entry.done_clock, entry.output_tokens)
            for entry in admitted
            if entry.done_clock is not None
        ]
        ends = [
            (entry.done_clock, -1) for entry in admitted if entry.done_clock is not None
        ]
        return Peak(
            _most([(entry.clock, 1) for entry in admitted], length),
            _most(tokens, length),
            _most([(entry.clock, 1) for entry in self.calls(group)], length),
            _most([*ends, *((entry.clock, 1) for entry in admitted)], float("inf")),
        )

    def groups(self) -> list[str]:
        """Return the groups that were seen."""
        return sorted({entry.group for entry in self.calls()})

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "calls": [asdict(entry) for entry in self.calls()],
            "bill": self.bill(),
            "rejected_share": self.rejected_share(),
            "repeated": [
                {"prompt": prompt, "model": model, "times": times}
                for (prompt, model), times in self.repeated().items()
            ],
            "groups": {
                group: asdict(self.most_in_window(group)) for group in self.groups()
            },
        }

    def _write(self, event: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()

    def apply(self, event: dict[str, Any]) -> None:
        """Take in one line of a file."""
        match event.pop("event"):
            case "started":
                self.window = event["window"]
            case "done":
                self.finish(event.pop("id"), **event)
            case _:
                self.add(Entry(**event))


def read_ledger(path: Path) -> Ledger:
    """Read a ledger's file; a last line that is not whole yet is left out."""
    ledger = Ledger()
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        if line.endswith(b"\n"):
            ledger.apply(json.loads(line))
    return ledger


def _most(events: Iterable[tuple[float, int]], length: float) -> int:
    """Return the largest sum over any window; it can only grow when something is
    added.
    """
    held: deque[tuple[float, int]] = deque()
    total = most = 0
    for at, amount in sorted(events):
        held.append((at, amount))
        total += amount
        while held[0][0] + length <= at:
            total -= held.popleft()[1]
        most = max(most, total)
    return most
