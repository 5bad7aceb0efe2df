"""A worker's messages about a checkpoint that the coordinator keeps for it."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
from collections.abc import Callable
from typing import Any

from agentos.workers.process.channel import Message
from agentos.workflows.engine.checkpoints import CheckpointFile

CHECKPOINT = "checkpoint"
"""The `op` of these messages, in both directions."""
QUOTED = "base64"


class CheckpointLink:
    """The worker's end: asks, and waits for each answer."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._last = 0

    async def ask(self, message: Message) -> Message:
        """Send a message and return its answer, or raise `sqlite3.OperationalError`."""
        self._last += 1
        number = self._last
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Message] = loop.create_future()
        self._waiting[number] = future
        self._send(_pack(number, message))
        try:
            answer = _unpack(await future)
        finally:
            del self._waiting[number]
        if "error" in answer:
            raise sqlite3.OperationalError(answer["error"])
        return answer

    def take_answer(self, message: Message) -> None:
        """Hand an arrived answer to the message that waits for it."""
        future = self._waiting.get(message["id"])
        if future is not None and not future.done():
            future.set_result(message)


def answer(file: CheckpointFile, message: Message) -> Message:
    """Do what a worker asks for, and return the message to send back."""
    try:
        reply = file.answer(_unpack(message))
    except (sqlite3.Error, OSError) as error:
        reply = {"error": str(error)}
    # What the worker sent makes no sense, and it waits for an answer all the same.
    except Exception as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    return _pack(message["id"], reply)


def _pack(number: int, message: Message) -> Message:
    """Return a message that can be sent; rows have bytes in them, which JSON has not."""
    text = json.dumps(message, default=_quote)
    return {
        "op": CHECKPOINT,
        "id": number,
        "blobs": [text.encode()],
    }


def _unpack(message: Message) -> Message:
    """Undo `_pack`."""
    (text,) = message["blobs"]
    unpacked: Message = json.loads(text, object_hook=_unquote)
    return unpacked


def _quote(value: bytes) -> dict[str, str]:
    text = base64.b64encode(value)
    return {QUOTED: text.decode()}


def _unquote(value: dict[str, Any]) -> Any:
    if QUOTED in value:
        return base64.b64decode(value[QUOTED])
    return value
