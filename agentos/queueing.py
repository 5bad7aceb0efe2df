"""Hold a lock that several want, one after the other. Apart from `locks`: who waits for nobody needs no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agentos.locks import ItemLock, try_acquire

_REMINDER = 10.0
_POLL = 0.02


@asynccontextmanager
async def in_turn(path: Path, on_wait: Callable[[], None]) -> AsyncIterator[ItemLock]:
    """Hold a lock that several want, one after the other; `on_wait` is called at once and then every ten seconds."""
    waited = 0.0
    while (lock := try_acquire(path)) is None:
        if waited == 0 or waited >= _REMINDER:
            on_wait()
            waited = 0.0
        await asyncio.sleep(_POLL)
        waited += _POLL
    try:
        yield lock
    finally:
        lock.release()
