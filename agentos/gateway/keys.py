"""Lease keys to calls; with none configured a call that needs none goes straight through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from agentos.errors import ProviderError, UsageError
from agentos.workflows.parallel.credential_coordinator import LIMIT_VARIABLE, CredentialCoordinator
from agentos.workflows.parallel.lending import SIMULATE_429_VARIABLE

SIMULATED_KEYS = 3
SIMULATED_REST = 2.0
MOST_WAITING = 64


@dataclass(frozen=True, slots=True)
class Lease:
    """A key lent to one call, or none where none is needed."""

    key: str | None
    waited: float = 0.0


class KeyPool:
    """The pool that calls lease from.

    `rehearse_429` makes the first use of every key end as if its provider had answered 429, so that a shortage can be
    watched without a provider.
    """

    def __init__(self, coordinator: CredentialCoordinator | None, *, rehearse_429: bool = False) -> None:
        self._coordinator = coordinator
        self._rehearse_429 = rehearse_429
        self._rehearsed: set[str] = set()
        # Threads of their own: those who wait for a key must not take the ones that key holders work on.
        self._line = ThreadPoolExecutor(max_workers=MOST_WAITING, thread_name_prefix="key-line")

    def parallelism(self, wanted: int) -> int:
        """Return how many workers the pool can feed now."""
        return wanted if self._coordinator is None else self._coordinator.parallelism(wanted)

    async def lease(self, needs_key: bool) -> Lease:
        """Wait in line for a key."""
        if self._coordinator is None:
            if needs_key:
                raise ProviderError("no key is configured for this provider; set one and run again", "auth")
            return Lease(None)
        started = asyncio.get_running_loop().time()
        while True:
            key = await asyncio.get_running_loop().run_in_executor(self._line, self._coordinator.acquire, None)
            if key is None:
                raise ProviderError("the run is ending")
            if not self._rehearse_429 or key in self._rehearsed:
                return Lease(key, asyncio.get_running_loop().time() - started)
            self._rehearsed.add(key)
            self._coordinator.release(key, rate_limited=True, backoff_seconds=SIMULATED_REST)

    def release(self, lease: Lease) -> None:
        """Give the key back."""
        if lease.key is not None and self._coordinator is not None:
            self._coordinator.release(lease.key)

    async def rest(self, lease: Lease, delay: float) -> None:
        """Give the key back to rest; without a key, the call itself waits that long."""
        if lease.key is not None and self._coordinator is not None:
            self._coordinator.release(lease.key, rate_limited=True, backoff_seconds=delay)
        else:
            await asyncio.sleep(delay)

    def close(self) -> None:
        """Send those who wait away, because the run ends."""
        if self._coordinator is not None:
            self._coordinator.cancel_waiting()
        self._line.shutdown(wait=False, cancel_futures=True)


def make_pool(environ: Mapping[str, str], announce: Callable[[str], None]) -> KeyPool:
    """Return the pool; the rehearsal variables put simulated keys into it."""
    rehearse_429 = environ.get(SIMULATE_429_VARIABLE, "").lower() in ("1", "true", "yes")
    limit = environ.get(LIMIT_VARIABLE, "")
    if not rehearse_429 and not limit:
        return KeyPool(None)
    if limit and (not (limit.isascii() and limit.isdigit()) or int(limit) == 0):
        raise UsageError(f"{LIMIT_VARIABLE}: must be a whole number from 1 up, not {limit!r}")
    keys = [f"simulated key {number}" for number in range(1, (int(limit) if limit else SIMULATED_KEYS) + 1)]
    coordinator = CredentialCoordinator(keys, announce=announce, busy_is_exhausted=False)
    return KeyPool(coordinator, rehearse_429=rehearse_429)
