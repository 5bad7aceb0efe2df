"""Hold a lock that several want, one after the other. Apart from `locks`: who waits for nobody needs no event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agentos.locks import ItemLock, try_acquire

_REMINDER = 10.0
_POLL = 0.02
_SHORT_POLL = 0.01


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


class Place:
    """One of a few places that many want: taken when it is needed, kept for as long as it is used."""

    def __init__(self, locks: Sequence[Path], patience: float) -> None:
        self._locks = locks
        self._patience = patience
        self._held: ItemLock | None = None

    async def take(self) -> None:
        """Wait for a free place; whoever has waited for long enough goes on without one."""
        give_up = time.monotonic() + self._patience
        while self._held is None:
            try:
                self._held = next(filter(None, map(try_acquire, self._locks)), None)
            except OSError:
                # A place only saves time.
                break
            if self._held is not None or time.monotonic() > give_up:
                break
            await asyncio.sleep(_SHORT_POLL)

    def leave(self) -> None:
        """Let another have the place."""
        if self._held is not None:
            self._held.release()
            self._held = None
