"""Lend a key to a function while it runs, and another one after a rate limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from agentos.errors import RateLimited
from agentos.state.variables import environment
from agentos.workflows.parallel.credential_coordinator import Prospect

T = TypeVar("T")

SIMULATE_429_VARIABLE = "AGENTOS_SIMULATE_429"


class Interrupted(Exception):
    """Raised for an item that stops because the run is ending; it has neither ended nor
    failed.
    """


class Credentials(Protocol):
    """The part of `CredentialCoordinator` that lending needs."""

    def acquire(self, timeout: float | None = ...) -> str | None: ...

    def release(
        self, key: str, rate_limited: bool = ..., backoff_seconds: float = ...
    ) -> None: ...

    def prospect(self) -> Prospect: ...

    def cancel_waiting(self) -> None: ...


class Lender:
    """Lend the keys of one run."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._has_simulated_429 = False

    def lend(self, credentials: Credentials, function: Callable[[str], T]) -> T:
        """Call a function with a key; after a rate limit let the key rest and call the
        function with another.
        """
        while True:
            key = self._lease(credentials)
            is_limited = False
            delay = 0.0
            try:
                return function(key)
            except RateLimited as limited:
                is_limited = True
                delay = limited.delay or 0.0
            finally:
                credentials.release(key, rate_limited=is_limited, backoff_seconds=delay)

    def _lease(self, credentials: Credentials) -> str:
        """Wait for a key as long as one can come; fail the item only if none can."""
        while not self._is_stopping():
            key = None
            if credentials.prospect() is not Prospect.NONE:
                key = credentials.acquire()
            if key is not None and self._must_simulate_429():
                credentials.release(key, rate_limited=True, backoff_seconds=1.0)
                continue
            if key is not None:
                return key
            if credentials.prospect() not in (
                Prospect.READY,
                Prospect.BUSY,
                Prospect.RESTING,
            ):
                raise RuntimeError(
                    "Failed to acquire credential: no usable key in the pool; add one"
                    " and run again"
                )
        raise Interrupted

    def _must_simulate_429(self) -> bool:
        setting = environment().get(SIMULATE_429_VARIABLE, "")
        if self._has_simulated_429 or setting.lower() not in ("1", "true", "yes"):
            return False
        self._has_simulated_429 = True
        return True
