"""Try keys out: ask the provider of each the cheapest question there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from agentos.errors import AgentOSError, ProviderError, Sign
from agentos.keys import Key
from agentos.providers import ModelSpec, create_provider

PATIENCE = 20.0
MOST_AT_ONCE = 16
HIDDEN = "[REDACTED]"
LONGEST_DETAIL = 1_000
SHORTEST_SECRET = 4
"""A shorter one is a placeholder for a server that asks for no key."""
TELLING = 8
"""So many characters in a row of a key tell too much of it."""

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
            return Finding(key, outcome, hide(str(error), key.secret), error.sign)
        except AgentOSError as error:
            return Finding(key, "cannot be reached", hide(str(error), key.secret))
    return Finding(key, "ok", hide(answer, key.secret))


def hide(text: str, secret: str) -> str:
    """Return a provider's words as one line without the key, any telling piece of it, or a form masked with stars."""
    if len(secret) >= SHORTEST_SECRET:
        text = text.replace(secret, HIDDEN)
    text = text[:LONGEST_DETAIL]
    pieces = {secret[start : start + TELLING] for start in range(len(secret) - TELLING + 1)}
    return " ".join(HIDDEN if _tells(word, pieces) else word for word in text.split())


def _tells(word: str, pieces: set[str]) -> bool:
    return "**" in word or any(word[start : start + TELLING] in pieces for start in range(len(word) - TELLING + 1))
