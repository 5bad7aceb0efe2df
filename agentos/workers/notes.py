"""What a worker has to tell about its steps, sent along with what it says anyway.

A step takes milliseconds and is told at its start and its end. Sent one by one, these would wake the coordinator more
often than all the rest of an item's work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentos.wording import utc_now
from agentos.workers.channel import Message

LONGEST_DELAY = 0.05


class Notes:
    """Events on their way to the audit, each with the moment it is of."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._waiting: list[Message] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, event: str, **details: Any) -> None:
        """Take an event down; it is sent with the next message, or a moment later."""
        self._waiting.append({"time": utc_now("milliseconds"), "event": event, **details})
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LONGEST_DELAY, self.send)

    def send(self, message: Message | None = None) -> None:
        """Send a message, and before it what was taken down."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events, self._waiting = self._waiting, []
        if events or message:
            self._send({"op": "events", **(message or {}), "events": events})
