"""A key pool without a database, for one process: it keeps the promises of the Protocol
and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.keys import Key, KeyRequest, Lease
from agentos.gateway.providers import Completion, Credential


class PlainPool:
    """Lend keys in order; a limited group rests, a refused key is not used again."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = keys
        self._used: Counter[str] = Counter()
        self._numbers = count(1)
        self._resting: dict[str, float] = {}
        self._dead: dict[str, str] = {}
        self._lines: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed = asyncio.Event()

    def credentials(self, provider: str) -> list[Credential]:
        return [key.credential for key in self._keys if key.provider == provider]

    async def lease(
        self,
        provider: str,
        model: str,
        tokens: int,
        label: str,
        *,
        output: int = 0,
        group: str = "",
    ) -> Lease:
        del label
        if not self.credentials(provider):
            return Lease()
        request = KeyRequest(provider, model, tokens, output, group)
        started = time.monotonic()
        async with self._lines[provider]:
            while (key := self._choose(request)) is None:
                self._changed.clear()
                # The end of a rest comes without a notice.
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await self._changed.wait()
        self._used[key.fingerprint] += 1
        now = time.monotonic()
        return Lease(key, request, next(self._numbers), now, now - started)

    def mark_sent(self, lease: Lease) -> None:
        del lease

    def succeed(self, lease: Lease, completion: Completion) -> None:
        del completion
        self.give_back(lease)

    def fail(self, lease: Lease, error: ProviderError) -> None:
        if lease.key is not None and error.cause is FailureCause.AUTH:
            self._dead[lease.key.fingerprint] = str(error)
        if lease.key is not None and error.cause is FailureCause.RATE_LIMIT:
            self._resting[lease.key.group] = time.monotonic() + (error.delay or 0.0)
        self.give_back(lease)

    def give_back(self, lease: Lease) -> None:
        if lease.key is not None:
            self._used[lease.key.fingerprint] -= 1
            self._changed.set()

    def parallelism(self, wanted: int) -> int:
        for provider in {key.provider for key in self._keys}:
            groups = {key.group for key in self._keys if key.provider == provider}
            if len(groups - self._resting.keys()) < 2:
                return min(wanted, 1)
        return wanted

    def close(self) -> None:
        self._used.clear()

    def _choose(self, request: KeyRequest) -> Key | None:
        own = [key for key in self._keys if key.provider == request.provider]
        serving = [key for key in own if key.serves(request.model)]
        living = [key for key in serving if key.fingerprint not in self._dead]
        if not living:
            raise ProviderError("every key is refused", cause=FailureCause.AUTH)
        living.sort(key=lambda key: key.group != request.group)
        for key in living:
            is_resting = self._resting.get(key.group, 0.0) > time.monotonic()
            if not is_resting and self._used[key.fingerprint] < key.max_parallel:
                return key
        return None
