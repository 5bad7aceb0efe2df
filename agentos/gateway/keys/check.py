"""Check keys with the cheapest possible call to their providers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from agentos.errors import AgentOSError, FailureCause, ProviderError
from agentos.gateway.keys import Key
from agentos.gateway.providers import ModelSpec, create_provider
from agentos.gateway.providers.classify import clean_words

PATIENCE = 20.0
MOST_AT_ONCE = 16
LONGEST_DETAIL = 1_000

_UNREACHED = (FailureCause.OVERLOADED, FailureCause.TRANSIENT, FailureCause.BAD_ANSWER)


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Result of checking one key."""

    key: Key
    outcome: str
    """`ok`, `refused` or `cannot be reached`."""
    detail: str
    sign: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether the key can be used."""
        return self.outcome == "ok"


async def try_keys(
    keys: Sequence[Key], patience: float = PATIENCE
) -> AsyncIterator[KeyCheck]:
    """Check all keys concurrently; yield the results in the order of the keys."""
    places = asyncio.Semaphore(MOST_AT_ONCE)
    tasks = [asyncio.create_task(_try_key(key, places, patience)) for key in keys]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()


async def _try_key(key: Key, places: asyncio.Semaphore, patience: float) -> KeyCheck:
    async with places:
        try:
            provider = create_provider(ModelSpec(key.provider, "check"))
            answer = await asyncio.wait_for(provider.check(key.credential), patience)
        except TimeoutError:
            return KeyCheck(
                key,
                "cannot be reached",
                f"no answer within {patience:.0f} s",
                FailureCause.TRANSIENT,
            )
        except ProviderError as error:
            outcome = "cannot be reached" if error.cause in _UNREACHED else "refused"
            return KeyCheck(
                key,
                outcome,
                clean_words(str(error), key.secret, LONGEST_DETAIL),
                error.cause,
            )
        except AgentOSError as error:
            return KeyCheck(
                key,
                "cannot be reached",
                clean_words(str(error), key.secret, LONGEST_DETAIL),
            )
    return KeyCheck(key, "ok", clean_words(answer, key.secret, LONGEST_DETAIL))
