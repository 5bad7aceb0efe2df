"""Lend each key of a shared pool to one holder at a time, in order of arrival."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from agentos.state.variables import environment

LIMIT_VARIABLE = "AGENTOS_CREDENTIAL_LIMIT"
EXHAUSTED = "Credential pool exhausted. Pausing all workflows..."


class Prospect(Enum):
    """Whether a caller without a key can expect one."""

    READY = "a key is free"
    BUSY = "every usable key is lent"
    RESTING = "every key rests until its limit resets"
    NONE = "no key can come"


@dataclass(slots=True)
class _Slot:
    number: int
    lent: bool = False
    resting_until: float = -math.inf
    last_used: float = -math.inf


def say(text: str) -> None:
    """Print one line of the coordinator."""
    print(f"[COORDINATOR] {text}", flush=True)


class CredentialCoordinator:
    """Share keys between workers: reserve with `acquire`, give back with `release`.

    A waiting caller has a ticket. The oldest ticket is served first, with the ready key
    that was unused for the longest time, so that no caller starves and the load spreads.
    A resting key becomes ready when its time is over. Messages never show a key, only
    its number in the pool.
    """

    def __init__(
        self,
        credentials: Sequence[str],
        *,
        announce: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
        busy_is_exhausted: bool = True,
    ) -> None:
        unique = list(dict.fromkeys(credentials))
        self._slots: dict[str, _Slot] = {}
        for number, key in enumerate(unique[: _limit(len(unique))], start=1):
            self._slots[key] = _Slot(number)
        self._announce = announce
        self._clock = clock
        self._busy_is_exhausted = busy_is_exhausted
        self._condition = threading.Condition()
        self._tickets: deque[object] = deque()
        self._is_exhausted = False
        self._cancellations = 0

    @property
    def total(self) -> int:
        """How many keys the pool has."""
        return len(self._slots)

    @property
    def usable(self) -> int:
        """How many keys are not resting, lent or not."""
        with self._condition:
            now = self._clock()
            return sum(slot.resting_until <= now for slot in self._slots.values())

    @property
    def waiting(self) -> int:
        """How many callers wait for a key."""
        return len(self._tickets)

    def prospect(self) -> Prospect:
        """Tell whether a key is free now, will be free, or cannot come."""
        with self._condition:
            return self._prospect()

    def parallelism(self, wanted: int) -> int:
        """Return how many workers the pool can supply: one if fewer than two keys are
        usable.
        """
        return wanted if self.usable >= 2 else 1

    def acquire(self, timeout: float | None = 30.0) -> str | None:
        """Reserve a key in order of arrival; return None after `timeout` seconds."""
        deadline = math.inf
        if timeout is not None:
            deadline = self._clock() + timeout
        ticket = object()
        with self._condition:
            cancellations = self._cancellations
            self._tickets.append(ticket)
            try:
                while True:
                    key = self._ready_key() if self._tickets[0] is ticket else None
                    if key is not None:
                        slot = self._slots[key]
                        slot.lent = True
                        slot.last_used = self._clock()
                        self._is_exhausted = False
                        return key
                    self._say_exhausted()
                    wait = min(deadline, self._next_rest_end()) - self._clock()
                    is_canceled = self._cancellations != cancellations
                    if is_canceled or self._clock() >= deadline:
                        return None
                    self._condition.wait(None if math.isinf(wait) else max(wait, 0.001))
            finally:
                self._tickets.remove(ticket)
                self._condition.notify_all()

    def release(
        self, key: str, rate_limited: bool = False, backoff_seconds: float = 60.0
    ) -> None:
        """Return a key to the pool; it rests first if its provider limited it."""
        with self._condition:
            slot = self._slots.get(key)
            if slot is None:
                raise ValueError(
                    "this key is not from this pool: release what acquire() returned"
                )
            slot.lent = False
            if rate_limited:
                slot.resting_until = self._clock() + max(0.0, backoff_seconds)
            self._condition.notify_all()
        if rate_limited:
            self._announce(
                f"Credential #{slot.number} rate-limited, resting {backoff_seconds:g}s"
            )

    def add(self, key: str) -> None:
        """Add a key to the pool; a waiting caller can have it immediately."""
        with self._condition:
            self._slots.setdefault(key, _Slot(len(self._slots) + 1))
            self._condition.notify_all()

    def cancel_waiting(self) -> None:
        """Wake all waiting callers without a key, because the run is ending."""
        with self._condition:
            self._cancellations += 1
            self._condition.notify_all()

    def _ready_key(self) -> str | None:
        now = self._clock()
        best = None
        oldest = math.inf
        for key, slot in self._slots.items():
            is_ready = not slot.lent and slot.resting_until <= now
            if is_ready and slot.last_used < oldest:
                best = key
                oldest = slot.last_used
        return best

    def _next_rest_end(self) -> float:
        """Return when the next free key stops resting; infinity if all are lent."""
        soonest = math.inf
        for slot in self._slots.values():
            if not slot.lent:
                soonest = min(soonest, slot.resting_until)
        return soonest

    def _prospect(self) -> Prospect:
        if self._ready_key() is not None:
            return Prospect.READY
        now = self._clock()
        for slot in self._slots.values():
            if slot.lent and slot.resting_until <= now:
                return Prospect.BUSY
        return Prospect.RESTING if self._slots else Prospect.NONE

    def _say_exhausted(self) -> None:
        prospect = self._prospect()
        if self._is_exhausted or prospect is Prospect.READY:
            return
        if prospect is Prospect.BUSY and not self._busy_is_exhausted:
            return
        self._is_exhausted = True
        self._announce(EXHAUSTED)
        if prospect is Prospect.RESTING:
            wait = self._next_rest_end() - self._clock()
            self._announce(f"The next key is back in {wait:.0f}s")


def _limit(total: int) -> int:
    """Return how many keys may be used; the environment can lower it to simulate a
    shortage.
    """
    text = environment().get(LIMIT_VARIABLE, "")
    if text.isascii() and text.isdigit():
        return min(total, int(text))
    return total
