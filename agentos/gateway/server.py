"""The gateway: every completion of a run passes here, and only here are keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from agentos.errors import ProviderError
from agentos.gateway import policy
from agentos.gateway.journal import Journal, RequestKey, request_key
from agentos.gateway.keys import KeyPool
from agentos.providers import Completion, Provider, Request, create_provider, parse_model_spec


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion and how it was come by."""

    completion: Completion
    from_journal: bool = False
    retries: int = 0
    waited: float = 0.0
    """Seconds spent waiting for a key."""


class Gateway:
    """Answer requests: from the journal, from a call under way for the same question, or from the provider.

    A call belongs to its request, not to the worker that asked: when that worker dies, the call goes on and its
    answer is in the journal when the item is taken up again.
    """

    def __init__(self, journal: Journal, pool: KeyPool, create: Callable[[str], Provider] | None = None) -> None:
        self._journal = journal
        self._pool = pool
        self._create = create or (lambda model: create_provider(parse_model_spec(model)))
        self._providers: dict[str, Provider] = {}
        self._under_way: dict[RequestKey, asyncio.Task[Answer]] = {}

    async def answer(self, request: Request) -> Answer:
        """Return the completion for a request, or raise `ProviderError`."""
        key = request_key(request)
        if settled := self._journal.settled(key):
            return Answer(settled, from_journal=True)
        call = self._under_way.get(key)
        if call is None:
            call = asyncio.create_task(self._call(key, request))
            self._under_way[key] = call
            call.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(call)

    async def cancel_all(self) -> None:
        """End every call that is under way, because the run ends."""
        calls = list(self._under_way.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _call(self, key: RequestKey, request: Request) -> Answer:
        provider = self._provider(request.model)
        retries, waited = 0, 0.0
        while True:
            lease = await self._pool.lease(provider.needs_key)
            waited += lease.waited
            try:
                completion = await provider.complete(request, lease.key)
            except ProviderError as error:
                decision = policy.after(error, retries)
                match decision:
                    case policy.Rest(delay=delay):
                        await self._pool.rest(lease, delay)
                        continue
                    case policy.Retry(delay=delay):
                        retries += 1
                        self._pool.release(lease)
                        await asyncio.sleep(delay)
                        continue
                    case policy.GiveUp():
                        self._pool.release(lease)
                        raise
            except BaseException:
                self._pool.release(lease)
                raise
            self._pool.release(lease)
            self._journal.settle(key, completion)
            return Answer(completion, retries=retries, waited=waited)

    def _provider(self, model: str) -> Provider:
        if model not in self._providers:
            self._providers[model] = self._create(model)
        return self._providers[model]
