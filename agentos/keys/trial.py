"""Try keys out: ask the provider of each the cheapest question there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from agentos.errors import AgentOSError, ProviderError, Sign
from agentos.keys import Key
from agentos.providers import ModelSpec, create_provider
from agentos.providers.classify import clean_words

PATIENCE = 20.0
MOST_AT_ONCE = 16
LONGEST_DETAIL = 1_000

_UNREACHED = (Sign.OVERLOADED, Sign.TRANSIENT, Sign.BAD_ANSWER)


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of trying one key."""

    key: Key
    outcome: str
    """`ok`, `refused` or `cannot be reached`."""
    detail: str
    sign: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether the key can be used."""
        return self.outcome == "ok"


async def try_keys(keys: Sequence[Key], patience: float = PATIENCE) -> AsyncIterator[Finding]:
    """Try all keys at once; give the findings in the order of the keys."""
    places = asyncio.Semaphore(MOST_AT_ONCE)
    tasks = [asyncio.create_task(_try_key(key, places, patience)) for key in keys]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()


async def _try_key(key: Key, places: asyncio.Semaphore, patience: float) -> Finding:
    async with places:
        try:
            provider = create_provider(ModelSpec(key.provider, "check"))
            answer = await asyncio.wait_for(provider.check(key.credential), patience)
        except TimeoutError:
            return Finding(key, "cannot be reached", f"no answer within {patience:.0f} s", Sign.TRANSIENT)
        except ProviderError as error:
            outcome = "cannot be reached" if error.sign in _UNREACHED else "refused"
            return Finding(key, outcome, clean_words(str(error), key.secret, LONGEST_DETAIL), error.sign)
        except AgentOSError as error:
            return Finding(key, "cannot be reached", clean_words(str(error), key.secret, LONGEST_DETAIL))
    return Finding(key, "ok", clean_words(answer, key.secret, LONGEST_DETAIL))
