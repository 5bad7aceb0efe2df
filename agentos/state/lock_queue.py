"""Wait for a lock. Separate from `locks`, whose other users need no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agentos.state.locks import ItemLock, try_acquire

_REMINDER = 10.0
_POLL = 0.02


@asynccontextmanager
async def wait_for_lock(
    path: Path, on_wait: Callable[[], None]
) -> AsyncIterator[ItemLock]:
    """Wait for a lock and hold it; call `on_wait` at once and then every ten
    seconds.
    """
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
