"""Messages between the coordinator and a worker: JSON objects, each behind its length."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any

Message = dict[str, Any]

_LENGTH = struct.Struct("!I")
MESSAGE_LIMIT = 64 * 1024 * 1024


class ChannelClosed(Exception):
    """The other side is gone."""


def encode(message: Message) -> bytes:
    """Return the message as it goes over the wire."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(body) > MESSAGE_LIMIT:
        raise ValueError(f"a message of {len(body)} bytes is over the limit of {MESSAGE_LIMIT}")
    return _LENGTH.pack(len(body)) + body


async def receive(reader: asyncio.StreamReader) -> Message:
    """Return the next message, or raise `ChannelClosed`."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > MESSAGE_LIMIT:
            raise ChannelClosed
        message = json.loads((await reader.readexactly(length)).decode("utf-8", "surrogatepass"))
    except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
        raise ChannelClosed from error
    if not isinstance(message, dict):
        raise ChannelClosed
    return message
