"""An HTTP server on loopback that answers with the very bytes it was given, and keeps
what it was asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

DEADLINE = 20.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing more until the client goes away."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Endless:
    """Send a piece again and again until the client goes away."""

    piece: bytes


Step = bytes | Hold | Pause | Endless


@dataclass(frozen=True, slots=True)
class Canned:
    """One answer: its steps, and whether the connection is kept after them."""

    steps: tuple[Step, ...]
    keeps: bool = True


@dataclass(slots=True)
class CallInfo:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body as data."""
        return json.loads(self.body)


@dataclass(slots=True)
class CannedServer:
    """Answers each request with the next canned answer, the last one for ever."""

    answers: list[Canned]
    url: str = ""
    requests: list[CallInfo] = field(default_factory=list)
    connections: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request is complete."""
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client closed its connection before its answer was complete."""

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        try:
            while asked := await _read_request(reader):
                number = len(self.requests)
                self.requests.append(asked)
                self.arrived.set()
                answer = self.answers[min(number, len(self.answers) - 1)]
                for step in answer.steps:
                    await self._send(step, reader, writer)
                if not answer.keeps:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            with suppress(ConnectionError):
                writer.close()

    async def _send(
        self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        match step:
            case bytes():
                writer.write(step)
                await writer.drain()
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Hold():
                self.holding.set()
                if not await reader.read(1):
                    raise ConnectionResetError
            case Endless(piece):
                while True:
                    writer.write(piece)
                    await writer.drain()


@asynccontextmanager
async def serving(*answers: Canned | bytes) -> AsyncIterator[CannedServer]:
    """Serve on a free port of loopback."""
    canned = CannedServer(
        [
            answer if isinstance(answer, Canned) else Canned((answer,))
            for answer in answers
        ]
    )
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        try:
            await canned.serve(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    canned.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with asyncio.timeout(DEADLINE * 3):
            yield canned
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> CallInfo | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = head[0].split(" ", 2)
    headers = dict(_header(line) for line in head[1:] if line)
    return CallInfo(
        method,
        path,
        headers,
        await reader.readexactly(int(headers.get("content-length", "0"))),
    )


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def respond(
    status: str, body: bytes | Any = b"", kind: str = "application/json", **headers: str
) -> bytes:
    """Return a whole response with a length; data is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body, indent=2).encode()
    return _head(status, kind, headers | {"content_length": str(len(data))}) + data


def stream_head(
    kind: str = "text/event-stream; charset=utf-8", **headers: str
) -> bytes:
    """Return the head of a chunked response with status 200."""
    return _head("200 OK", kind, headers | {"transfer_encoding": "chunked"})


def _head(status: str, kind: str, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked response."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


LAST_CHUNK = b"0\r\n\r\n"


def stream(events: Iterable[bytes], **headers: str) -> bytes:
    """Return a whole streamed response, each event in a chunk of its own."""
    return stream_head(**headers) + b"".join(map(chunk, events)) + LAST_CHUNK
