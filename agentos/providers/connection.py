"""The HTTP edge of all network providers: key header, timeouts, limits and errors, whatever the SDK would do.

Import this off the event loop: it loads the HTTP library.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

import httpx2

from agentos.errors import ProviderError, Sign
from agentos.providers import on_sending
from agentos.providers.classify import Asked, classify, clean_words, refused_parameter

CONNECT_TIMEOUT = 15.0
STREAM_LIMIT = 256_000_000
EVENT_LIMIT = 16_000_000
EVENT_LINES = 2_000
ERROR_LIMIT = 1_000_000

# Environment variables can make an SDK send a key of its own choice in any of these.
_KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)


@dataclass(slots=True)
class Exchange:
    """What one call sent and received; lets the call end its connection whatever the SDK does."""

    asked: Asked
    responses: list[httpx2.Response] = field(default_factory=list)
    has_begun: bool = False
    """Whether a part of the answer was understood."""
    streams: bool = False
    """Whether a stream is asked for."""
    refused_parameter: str = ""
    """What a server blamed that answered 400."""

    @property
    def headers(self) -> httpx2.Headers:
        """Return the headers of the last answer."""
        return self.responses[-1].headers if self.responses else httpx2.Headers()

    async def close(self) -> None:
        """Close what is still open."""
        for response in self.responses:
            with suppress(Exception):
                await response.aclose()


current_exchange: ContextVar[Exchange] = ContextVar("current_exchange")


@dataclass(frozen=True, slots=True)
class Edge:
    """The hooks of one HTTP client, which belongs to one key and one address."""

    secret: str = field(repr=False)
    key_header: str
    key_prefix: str
    idle_timeout: float

    @property
    def timeout(self) -> httpx2.Timeout:
        """Return the limits on reaching the server and on its silence; there is none on the whole."""
        return httpx2.Timeout(self.idle_timeout, connect=CONNECT_TIMEOUT, pool=None)

    async def prepare(self, request: httpx2.Request) -> None:
        """Let the key be the one that was leased, and the timeout one on idleness alone."""
        mine = (self.secret, f"{self.key_prefix}{self.secret}")
        for name in _KEY_HEADERS:
            if request.headers.get(name) not in mine:
                request.headers.pop(name, None)
        if not any(name in request.headers for name in _KEY_HEADERS):
            request.headers[self.key_header] = mine[1]
        # Compressed, a small answer could become a huge one behind the limits.
        request.headers["accept-encoding"] = "identity"
        request.extensions["timeout"] = self.timeout.as_dict()
        on_sending.get()()

    async def inspect(self, response: httpx2.Response) -> None:
        """Refuse what is no answer of the API, and bound what is."""
        exchange = current_exchange.get()
        exchange.responses.append(response)
        if not 200 <= response.status_code < 300:
            body = _parse(await _read_start(response))
            exchange.refused_parameter = refused_parameter(body) if response.status_code == 400 else ""
            raise classify(response.status_code, body, response.headers, time.time(), exchange.asked)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind.endswith("json")
        if _is_compressed(response):
            raise not_the_api(exchange.asked, f"{kind}, compressed")
        if is_json and exchange.streams:
            raise await _explain_single(response, exchange.asked)
        if kind and not is_json and kind != "text/event-stream":
            raise not_the_api(exchange.asked, kind)
        most_lines = EVENT_LIMIT if is_json else EVENT_LINES
        response.stream = _BoundedStream(response.stream, exchange.asked.provider, most_lines)


async def _explain_single(response: httpx2.Response, asked: Asked) -> ProviderError:
    """Return the error for one JSON document where a stream should be: an error's body, or of another API."""
    body = _parse(await _read_start(response))
    first = body[0] if isinstance(body, list) and body else body
    if isinstance(first, dict) and first.get("error"):
        return classify(200, body, response.headers, time.time(), asked)
    return not_the_api(asked, "one JSON document, no stream")


def make_http_client(edge: Edge, verify: ssl.SSLContext) -> httpx2.AsyncClient:
    """Return a client for one key: it follows no redirect, as a key must not travel to another address."""
    return httpx2.AsyncClient(
        verify=verify,
        limits=_LIMITS,
        timeout=edge.timeout,
        event_hooks={"request": [edge.prepare], "response": [edge.inspect]},
    )


def not_the_api(asked: Asked, what: str) -> ProviderError:
    """Return the error for an answer that no API of this kind gives."""
    shown = clean_words(what, asked.secret, 80)
    return ProviderError(
        f"{asked.provider} answered something that is not the API ({shown}): check the base URL", sign=Sign.BAD_REQUEST
    )


def convert(error: Exception, exchange: Exchange, idle_timeout: float) -> ProviderError:
    """Return an error of ours for whatever an SDK raised, with nothing of the SDK's attached to it."""
    who = exchange.asked.provider
    chain = _chain(error)
    for link in chain:
        if isinstance(link, ProviderError):
            return ProviderError(str(link), link.failure, sign=link.sign, delay=link.delay)
    for link in chain:
        if isinstance(link, httpx2.ConnectTimeout):
            return ProviderError(f"{who} could not be reached within {CONNECT_TIMEOUT:g} s")
        if isinstance(link, httpx2.TimeoutException):
            return ProviderError(f"{who} gave no sign of life for {idle_timeout:g} s")
        if isinstance(link, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError):
            return ProviderError(f"{who} cannot be asked at this address: check the base URL", sign=Sign.BAD_REQUEST)
        if isinstance(link, httpx2.ConnectError):
            return ProviderError(f"{who} could not be reached: {clean_words(str(link), exchange.asked.secret, 120)}")
        if isinstance(link, httpx2.RequestError | OSError):
            return ProviderError(f"{who}: the connection was cut off ({type(link).__name__})")
    body = _error_body(chain)
    if body is not None:
        return classify(200, body, exchange.headers, time.time(), exchange.asked)
    if not exchange.responses:
        return ProviderError(f"{who} could not be asked ({type(error).__name__})")
    if exchange.has_begun:
        return ProviderError(f"{who}: the answer was cut off or garbled ({type(error).__name__})")
    return not_the_api(exchange.asked, type(error).__name__)


def _chain(error: BaseException | None) -> list[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def _error_body(chain: list[BaseException]) -> object | None:
    """Return the JSON of an error that came inside a stream; SDKs keep it as `body` or `details`."""
    for link in chain:
        for name in ("body", "details"):
            body = getattr(link, name, None)
            if isinstance(body, dict):
                return body
    return None


def _is_compressed(response: httpx2.Response) -> bool:
    return response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")


async def _read_start(response: httpx2.Response) -> bytes:
    """Read as much of an error's body as any provider sends."""
    if _is_compressed(response):
        return b""
    data = bytearray()
    try:
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) > ERROR_LIMIT:
                    return b""
    except httpx2.RequestError:
        return b""
    return bytes(data)


def _parse(data: bytes) -> object | None:
    try:
        body: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return body


class _BoundedStream(httpx2.AsyncByteStream):
    """Pass whole events on until there are more bytes than any true answer has.

    An event ends with an empty line. SDKs collect one piece by piece, some in time that grows with the square of its
    pieces or lines: so it is passed on in one piece, and its lines are counted.
    """

    def __init__(self, inner: object, who: str, most_lines: int) -> None:
        self._inner = inner
        self._who = who
        self._most_lines = most_lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._inner, httpx2.AsyncByteStream)
        held = bytearray()
        total = lines = 0
        async for chunk in self._inner:
            known = len(held)
            held += chunk
            total += len(chunk)
            ends = _find_ends(held, max(0, known - 2))
            first = ends[0] if ends else len(held)
            lines += _count_lines(held, known, first)
            if total > STREAM_LIMIT or first > EVENT_LIMIT or lines > self._most_lines:
                raise too_long(self._who)
            if ends:
                yield bytes(held[: ends[1]])
                del held[: ends[1]]
                lines = _count_lines(held, 0, len(held))
        if held:
            yield bytes(held)

    async def aclose(self) -> None:
        assert isinstance(self._inner, httpx2.AsyncByteStream)
        await self._inner.aclose()


def _find_ends(data: bytearray, start: int) -> tuple[int, int] | None:
    """Return where the first and the last event end, or None when none does."""
    marks = [mark for mark in (b"\n\n", b"\n\r\n", b"\r\r") if data.find(mark, start) >= 0]
    if not marks:
        return None
    first = min(data.find(mark, start) + len(mark) for mark in marks)
    return first, max(data.rfind(mark, start) + len(mark) for mark in marks)


def _count_lines(data: bytearray, start: int, end: int) -> int:
    return data.count(b"\n", start, end) + data.count(b"\r", start, end)


def too_long(who: str) -> ProviderError:
    """Return the error for an answer without end."""
    return ProviderError(f"{who}: the answer is too long to be one, reading was stopped", sign=Sign.BAD_ANSWER)
