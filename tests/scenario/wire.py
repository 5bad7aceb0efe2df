"""HTTP/1.1 on asyncio streams: requests in, answers out, whole or in chunks."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.scenario.formats import HttpRequest, Reply

MAX_HEAD = 256 * 1024
MAX_BODY = 64 * 1024 * 1024


class BadHttp(Exception):
    """Something that is no request."""


class Connection(asyncio.StreamReaderProtocol):
    """A connection that cancels the answer that is under way when the caller leaves."""

    _answering: asyncio.Task[None] | None = None
    _has_left = False

    def begin_answer(self, task: asyncio.Task[None]) -> None:
        """Tie an answer to its caller, who may have left by now."""
        self._answering = task
        if self._has_left:
            task.cancel()

    def end_answer(self) -> None:
        """Let the caller leave."""
        self._answering = None

    def eof_received(self) -> bool | None:
        """Stop answering: a caller that closes its end does not read on."""
        self._leave()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop answering."""
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        self._has_left = True
        if self._answering is not None:
            self._answering.cancel()


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Read the next request, or return None when the caller is done."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError:
        raise BadHttp("the head is too long") from None
    start, *lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = start.split(" ")
    except ValueError:
        raise BadHttp("no request line") from None
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().casefold()] = value.strip()
    address = urlsplit(target)
    body = await _read_body(reader, headers)
    path = "/" + unquote(address.path).lstrip("/")
    return HttpRequest(method, path, dict(parse_qsl(address.query)), headers, body)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").casefold() == "chunked":
        body = bytearray()
        while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
            if len(body) + size > MAX_BODY:
                raise BadHttp("the body is too long")
            body += await reader.readexactly(size + 2)
            del body[-2:]
        while (await reader.readline()).strip():
            pass
        return bytes(body)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY:
        raise BadHttp("no usable content-length")
    return await reader.readexactly(int(length))


class Outgoing:
    """The way back to the caller, for one answer at a time."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.can_go_on = True
        """Whether the connection is of use for another request."""

    async def send(self, reply: Reply, is_head_only: bool = False) -> None:
        """Send a whole answer."""
        headers = (*reply.headers, ("content-length", str(len(reply.body))))
        self._writer.write(
            _head(reply.status, headers) + (b"" if is_head_only else reply.body)
        )
        await self._writer.drain()

    async def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the head of an answer that comes in chunks."""
        self._writer.write(_head(status, (*headers, ("transfer-encoding", "chunked"))))
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        """Send a chunk."""
        if data:
            self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await self._writer.drain()

    async def end(self, data: bytes = b"") -> None:
        """Send a last chunk and end the answer."""
        last = b"%x\r\n%s\r\n" % (len(data), data) if data else b""
        self._writer.write(last + b"0\r\n\r\n")
        await self._writer.drain()

    async def send_half(self, reply: Reply) -> None:
        """Promise a whole body, send half of it and hang up."""
        headers = (*reply.headers, ("content-length", str(len(reply.body))))
        self._writer.write(
            _head(reply.status, headers) + reply.body[: len(reply.body) // 2]
        )
        self.can_go_on = False
        await self._writer.drain()

    def reset(self) -> None:
        """Tear the connection down so that the caller sees a reset."""
        self.can_go_on = False
        connection = cast(socket.socket, self._writer.get_extra_info("socket"))
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self._writer.transport.abort()


def _head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    phrase = (
        HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    )
    lines = [f"HTTP/1.1 {status} {phrase}", f"date: {formatdate(usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
