"""Give a function a key for as long as it runs, and another when its provider says "later"."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from agentos.errors import RateLimited
from agentos.workflows.parallel.credential_coordinator import Prospect

T = TypeVar("T")

SIMULATE_429_VARIABLE = "AGENTOS_SIMULATE_429"


class Interrupted(Exception):
    """Raised for an item that stopped short because the run is ending; it is neither finished nor failed."""


class Credentials(Protocol):
    """The part of `CredentialCoordinator` that lending needs."""

    def acquire(self, timeout: float | None = ...) -> str | None: ...

    def release(self, key: str, rate_limited: bool = ..., backoff_seconds: float = ...) -> None: ...

    def prospect(self) -> Prospect: ...

    def cancel_waiting(self) -> None: ...


class Lender:
    """Lend keys of one run."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._has_simulated_429 = False

    def lend(self, credentials: Credentials, function: Callable[[str], T]) -> T:
        """Call a function with a key; after a rate limit the key rests and the function is called with another."""
        while True:
            key = self._lease(credentials)
            try:
                value = function(key)
            except RateLimited as limited:
                credentials.release(key, rate_limited=True, backoff_seconds=limited.delay or 0.0)
                continue
            except BaseException:
                credentials.release(key)
                raise
            credentials.release(key)
            return value

    def _lease(self, credentials: Credentials) -> str:
        """Wait for a key as long as one can come; only a pool that has no future fails the item."""
        while not self._is_stopping():
            key = None if credentials.prospect() is Prospect.NONE else credentials.acquire()
            if key is not None and self._must_simulate_429():
                credentials.release(key, rate_limited=True, backoff_seconds=1.0)
                continue
            if key is not None:
                return key
            if credentials.prospect() not in (Prospect.READY, Prospect.BUSY, Prospect.RESTING):
                raise RuntimeError("Failed to acquire credential: no usable key in the pool; add one and run again")
        raise Interrupted

    def _must_simulate_429(self) -> bool:
        wanted = os.environ.get(SIMULATE_429_VARIABLE, "").lower() in ("1", "true", "yes")
        if self._has_simulated_429 or not wanted:
            return False
        self._has_simulated_429 = True
        return True
