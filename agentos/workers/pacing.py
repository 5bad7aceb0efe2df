"""Let workers compute one after the other when many would at once.

Between two questions to a model a worker computes for some milliseconds. When ten of them start together and ask
models that take equally long, they would go on in step: all compute at the same time, share the cores, and all are
late. Taking turns, as many at once as there are cores, the first is done early and the others fall out of step with
it, so that from then on one computes while others wait for models. A turn that lasts longer ends by itself: this
smooths bursts, it does not ration work.
"""

from __future__ import annotations

import asyncio

LONGEST_TURN = 0.4
"""Seconds; a worker that runs tests keeps its turn for about one run of a small suite."""


class Turn:
    """The right to compute now; ends once."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._is_over = False
        self._timer = asyncio.get_running_loop().call_later(LONGEST_TURN, self.end)

    def end(self) -> None:
        """Let the next one compute."""
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
        """Whether nobody has a turn, so that there is time for what is not urgent."""
        return self._places._value == self._at_once

    async def take_turn(self) -> Turn:
        """Wait for a turn."""
        await self._places.acquire()
        return Turn(self._places)
