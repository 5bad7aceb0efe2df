"""Wait for a silent provider: report how long it has been, and give up at a limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from agentos.gateway.providers import Request
from agentos.state.wording import describe_seconds

LONGEST_STEP = 1.0
STEPS = 20
"""Minimum number of steps until a limit."""
TOLD_FIRST = 0.05
"""Fraction of the limit after which the silence is first reported; then each time it
has doubled.
"""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds of silence that end a call."""

    first_byte: float = 600.0
    """Before the first part of the answer: a model may think, and a local server may
    have a queue.
    """
    idle: float = 120.0
    """After it."""

    @classmethod
    def of(cls, request: Request) -> Patience:
        """Return the timeouts of a request."""
        return cls(request.first_byte_timeout, request.idle_timeout)


USUAL = Patience()


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence that continues."""

    seconds: float
    limit: float
    setting: str
    """The setting that the limit comes from."""

    def describe(self) -> str:
        """Describe how long it has been, and how long it may be."""
        return (
            f"has sent nothing for {describe_seconds(self.seconds)}; "
            f"it is given up after {describe_seconds(self.limit)} ({self.setting})"
        )

    def describe_end(self) -> str:
        """Describe that it has been too long."""
        setting = f"{self.setting} (AGENTOS_{self.setting.upper()})"
        return (
            f"sent nothing for {describe_seconds(self.limit)} and was given up; raise"
            f" {setting} if it needs longer"
        )


on_silence: ContextVar[Callable[[Silence], None]] = ContextVar(
    "on_silence", default=lambda _: None
)
"""Called repeatedly while a provider is silent."""


class SilenceWatch:
    """Measure the silence of one call.

    It adds up small steps, each of which counts for little more than its own length. So
    the time during which this process is suspended does not count, and data that
    arrived meanwhile is read before the call is given up.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._silent = 0.0
        self._heard_at = time.monotonic()
        self._told_at = 0.0
        self._has_begun = False

    def hear(self) -> None:
        """Note that bytes have arrived."""
        self._silent = 0.0
        self._heard_at = time.monotonic()
        self._told_at = 0.0

    def begin(self) -> None:
        """Note that the answer itself has begun."""
        self._has_begun = True

    @property
    def silence(self) -> Silence:
        """The silence so far."""
        if self._has_begun:
            return Silence(self._silent, self._patience.idle, "idle_timeout")
        return Silence(self._silent, self._patience.first_byte, "first_byte_timeout")

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Raise `TimeoutError` inside the block when the silence has lasted too long."""
        async with asyncio.timeout(None) as deadline:
            counting = asyncio.create_task(self._count(deadline))
            try:
                yield
            finally:
                counting.cancel()

    async def _count(self, deadline: asyncio.Timeout) -> None:
        while True:
            step = min(LONGEST_STEP, self.silence.limit / STEPS)
            begun = time.monotonic()
            await asyncio.sleep(step)
            self._silent += min(time.monotonic() - max(begun, self._heard_at), 2 * step)
            silence = self.silence
            if silence.seconds >= silence.limit:
                deadline.reschedule(asyncio.get_running_loop().time())
                return
            self._tell(silence)

    def _tell(self, silence: Silence) -> None:
        due = 2 * self._told_at if self._told_at else TOLD_FIRST * silence.limit
        if silence.seconds >= due:
            self._told_at = silence.seconds
            on_silence.get()(silence)
