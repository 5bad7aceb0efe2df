"""Messages arrive whole and in order, whatever their size and however the socket cuts
them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.workers.process.channel import Channel, Message

TEXTS = st.text(st.characters(exclude_categories=()), max_size=300)


async def _exchange(messages: list[Message]) -> list[Message]:
    """Send the messages from one end and return what the other has heard."""
    left, right = socket.socketpair()
    heard: asyncio.Queue[Message] = asyncio.Queue()
    receiver = Channel(right, heard.put_nowait, lambda: None)
    sender = Channel(left, heard.put_nowait, lambda: None)
    for message in messages:
        sender.send(message)
    received = [await heard.get() for _ in messages]
    sender.close()
    receiver.close()
    return received


@given(st.lists(st.dictionaries(TEXTS, TEXTS, max_size=3), max_size=5))
def test_what_is_said_is_heard(messages: list[Message]) -> None:
    assert asyncio.run(_exchange(messages)) == messages


def test_messages_larger_than_any_buffer_arrive_whole() -> None:
    messages: list[Message] = [
        {"text": "ä" * 3_000_000},
        {"text": "short"},
        {"text": "x" * 5_000_000},
    ]
    assert asyncio.run(_exchange(messages)) == messages


def test_bytes_arrive_as_they_were() -> None:
    messages: list[Message] = [
        {"op": "store", "blobs": [b"\xff\x00{}", b"", bytes(300_000)]},
        {"op": "nothing", "blobs": [b""]},
        {"op": "after"},
    ]
    assert asyncio.run(_exchange(messages)) == messages


def test_flushing_sends_all_that_waits() -> None:
    async def run() -> list[Message]:
        left, right = socket.socketpair()
        heard: list[Message] = []
        sender = Channel(left, heard.append, lambda: None)
        sender.send({"text": "x" * 3_000_000})

        async def listen() -> None:
            over = asyncio.get_running_loop().create_future()
            Channel(right, heard.append, lambda: over.set_result(None))
            await over

        # The blocking flush needs somebody who reads meanwhile, on a loop of its own.
        listener = asyncio.get_running_loop().run_in_executor(
            None, lambda: asyncio.run(listen())
        )
        sender.flush()
        sender.close()
        await listener
        return heard

    assert asyncio.run(run()) == [{"text": "x" * 3_000_000}]


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("!II", 2**31, 0),
        struct.pack("!II", 2, 2**31) + b"{}",
        struct.pack("!II", 3, 0) + b"\xff\xfe\xfd",
        struct.pack("!II", 2, 0) + b"[]",
        struct.pack("!II", 2, 1) + b"{}x",
    ],
    ids=["too long", "too many bytes", "no text", "no object", "unnamed bytes"],
)
def test_nonsense_ends_the_channel(data: bytes) -> None:
    async def run() -> list[Any]:
        left, right = socket.socketpair()
        heard: list[Any] = []
        over = asyncio.get_running_loop().create_future()
        Channel(right, heard.append, lambda: over.set_result(None))
        left.sendall(data)
        await over
        return heard

    assert asyncio.run(run()) == []


def test_speaking_to_one_who_is_gone_raises_nothing() -> None:
    async def run() -> None:
        left, right = socket.socketpair()
        over = asyncio.get_running_loop().create_future()
        channel = Channel(left, lambda _: None, lambda: over.set_result(None))
        right.close()
        channel.send({"text": "hello"})
        await over
        channel.send({"text": "anybody?"})
        channel.flush()
        channel.close()

    asyncio.run(run())
