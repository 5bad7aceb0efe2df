"""Let workers take turns when more of them want to compute than there are cores.

Between two calls to a model, a worker computes for some milliseconds. If ten workers
start together and call models that take equally long, they stay in step: all compute at
the same time, share the cores, and are all late. With turns, as many at once as there
are cores, the first is done early and the others fall out of step with it, so that from
then on some compute while others wait for models. A long turn ends by itself: turns
smooth bursts, they do not limit work.
"""

from __future__ import annotations

import asyncio

LONGEST_TURN = 0.4
"""Maximum seconds of a turn, enough for one test run of a small suite."""


class Turn:
    """The right to compute now; it ends only once."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._is_over = False
        self._timer = asyncio.get_running_loop().call_later(LONGEST_TURN, self.end)

    def end(self) -> None:
        """Let the next worker compute."""
        if not self._is_over:
            self._is_over = True
            self._timer.cancel()
            self._places.release()


class Pace:
    """Turns for the workers of one machine, in order of arrival."""

    def __init__(self, at_once: int) -> None:
        self._at_once = max(1, at_once)
        self._places = asyncio.Semaphore(self._at_once)

    @property
    def is_idle(self) -> bool:
        """Whether no worker has a turn, so that less urgent work can run."""
        return self._places._value == self._at_once

    async def take_turn(self) -> Turn:
        """Wait for a turn."""
        await self._places.acquire()
        return Turn(self._places)
