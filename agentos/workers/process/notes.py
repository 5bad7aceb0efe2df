"""Collect the events of a worker's steps and send them with its other messages.

A step may take only milliseconds and reports its start and its end. Sent one by one,
these events would wake the coordinator more often than the rest of an item's work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentos.state.wording import utc_now
from agentos.workers.process.channel import Message

LONGEST_DELAY = 0.05


class Notes:
    """Events for the audit, each with its time."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._waiting: list[Message] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, event: str, **details: Any) -> None:
        """Add an event; it is sent with the next message, or after a short delay."""
        self._waiting.append(
            {"time": utc_now("milliseconds"), "event": event, **details}
        )
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                LONGEST_DELAY, self.send
            )

    def send(self, message: Message | None = None) -> None:
        """Send a message together with the collected events."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events, self._waiting = self._waiting, []
        if events or message:
            self._send({"op": "events", **(message or {}), "events": events})
