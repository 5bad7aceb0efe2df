"""The HTTP edge of all network providers: key header, timeouts, limits and errors, whatever the SDK would do.

Import this off the event loop: it loads the HTTP library.
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from agentos.errors import ProviderError, Sign
from agentos.providers import NOTHING, UNKNOWN, Consumed, on_sending
from agentos.providers.allowance import read_allowance
from agentos.providers.classify import Asked, classify, clean_words, read_refusal
from agentos.providers.complaints import Complaint
from agentos.providers.waiting import USUAL, SilenceWatch

if TYPE_CHECKING:
    from agentos.providers.streaming import Answer

CONNECT_TIMEOUT = 15.0
STREAM_LIMIT = 256_000_000
EVENT_LIMIT = 16_000_000
EVENT_LINES = 2_000
ERROR_LIMIT = 1_000_000

# Environment variables can make an SDK send a key of its own choice in any of these.
_KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
# Silence is counted by the watch of the call, which knows a suspended process from a silent server.
_TIMEOUT = httpx2.Timeout(None, connect=CONNECT_TIMEOUT)

_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
    httpx2.LocalProtocolError,
    httpx2.WriteError,
)
"""Errors before a whole request has reached the server, so that there is nothing to bill."""


@dataclass(slots=True)
class Exchange:
    """What one call sent and received; lets the call end its connection whatever the SDK does."""

    asked: Asked
    watch: SilenceWatch = field(default_factory=lambda: SilenceWatch(USUAL))
    responses: list[httpx2.Response] = field(default_factory=list)
    answer: Answer | None = None
    """The answer as far as it has come."""
    has_begun: bool = False
    """Whether a part of the answer was understood."""
    streams: bool = False
    """Whether a stream is asked for."""
    complaint: Complaint | None = None
    """What a server finds wrong with the request that it has just refused."""

    def take(self, answer: Answer) -> None:
        """Note that a part of the answer was understood."""
        self.has_begun = True
        if answer.has_text:
            self.watch.begin()

    def consumed(self) -> Consumed:
        """Return what a call that was sent and failed has consumed, as far as that can be seen."""
        return self.answer.consumed() if self.answer is not None and self.has_begun else UNKNOWN

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

    async def prepare(self, request: httpx2.Request) -> None:
        """Let the key be the one that was leased, and the timeout ours."""
        mine = (self.secret, f"{self.key_prefix}{self.secret}")
        for name in _KEY_HEADERS:
            if request.headers.get(name) not in mine:
                request.headers.pop(name, None)
        if not any(name in request.headers for name in _KEY_HEADERS):
            request.headers[self.key_header] = mine[1]
        # Compressed, a small answer could become a huge one behind the limits.
        request.headers["accept-encoding"] = "identity"
        request.extensions["timeout"] = _TIMEOUT.as_dict()
        on_sending.get()()

    async def inspect(self, response: httpx2.Response) -> None:
        """Refuse what is no answer of the API, and bound what is."""
        exchange = current_exchange.get()
        exchange.responses.append(response)
        exchange.watch.hear()
        if not 200 <= response.status_code < 300:
            body = _parse(await _read_start(response))
            refusal = classify(response.status_code, body, response.headers, time.time(), exchange.asked)
            complaint = read_refusal(body)
            if refusal.sign is Sign.BAD_REQUEST or complaint.is_about_length:
                exchange.complaint = complaint
            refusal.allowance = read_allowance(response.headers, time.time())
            raise refusal
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind.endswith("json")
        if _is_compressed(response):
            raise not_the_api(exchange.asked, f"{kind}, compressed", UNKNOWN)
        if is_json and exchange.streams:
            raise await _explain_single(response, exchange.asked)
        if kind and not is_json and kind != "text/event-stream":
            raise not_the_api(exchange.asked, kind)
        most_lines = EVENT_LIMIT if is_json else EVENT_LINES
        response.stream = _BoundedStream(response.stream, exchange, most_lines)


async def _explain_single(response: httpx2.Response, asked: Asked) -> ProviderError:
    """Return the error for one JSON document where a stream should be: an error's body, or of another API."""
    body = _parse(await _read_start(response))
    first = body[0] if isinstance(body, list) and body else body
    if isinstance(first, dict) and first.get("error"):
        return classify(200, body, response.headers, time.time(), asked)
    # A whole answer of a server that does not stream: it has worked for it.
    return not_the_api(asked, "one JSON document, no stream", UNKNOWN)


def make_http_client(edge: Edge, verify: ssl.SSLContext, base_url: str) -> httpx2.AsyncClient:
    """Return a client for one key: it follows no redirect, as a key must not travel to another address."""
    return httpx2.AsyncClient(
        verify=verify,
        limits=_LIMITS,
        timeout=_TIMEOUT,
        event_hooks={"request": [edge.prepare], "response": [edge.inspect]},
        # The proxies of the environment are for the network: a server on this machine is asked directly.
        trust_env=not is_loopback(base_url),
    )


def is_loopback(url: str) -> bool:
    """Tell whether an address is one of this machine itself."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def not_the_api(asked: Asked, what: str, consumed: Consumed = NOTHING) -> ProviderError:
    """Return the error for an answer that no API of this kind gives."""
    shown = clean_words(what, asked.secret, 80)
    return ProviderError(
        f"{asked.provider} answered something that is not the API ({shown}): check the base URL",
        sign=Sign.BAD_REQUEST,
        consumed=consumed,
    )


def convert(error: Exception, exchange: Exchange) -> ProviderError:
    """Return an error of ours for whatever an SDK raised, with nothing of the SDK's attached to it."""
    chain = _chain(error)
    converted = _convert(error, chain, exchange)
    if converted.consumed is None:
        is_unsent = any(isinstance(link, _NEVER_SENT) for link in chain)
        converted.consumed = NOTHING if is_unsent else exchange.consumed()
    return converted


def _convert(error: Exception, chain: list[BaseException], exchange: Exchange) -> ProviderError:
    who = exchange.asked.provider
    for link in chain:
        if isinstance(link, ProviderError):
            return link.detached()
    for link in chain:
        if isinstance(link, httpx2.ConnectTimeout):
            return ProviderError(f"{who} could not be reached within {CONNECT_TIMEOUT:g} s")
        if isinstance(link, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError):
            return ProviderError(f"{who} cannot be asked at this address: check the base URL", sign=Sign.BAD_REQUEST)
        if isinstance(link, httpx2.ConnectError | httpx2.ProxyError):
            return ProviderError(f"{who} could not be reached: {clean_words(str(link), exchange.asked.secret, 120)}")
        if isinstance(link, TimeoutError):
            return ProviderError(f"{who} {exchange.watch.silence.describe_end()}")
        if isinstance(link, httpx2.RequestError | OSError):
            return ProviderError(f"{who}: the connection was cut off ({type(link).__name__})")
    body = _error_body(chain)
    if body is not None:
        return classify(200, body, exchange.headers, time.time(), exchange.asked)
    if not exchange.responses:
        return ProviderError(f"{who} could not be asked ({type(error).__name__})", consumed=NOTHING)
    if exchange.has_begun:
        return ProviderError(f"{who}: the answer was cut off or garbled ({type(error).__name__})")
    return not_the_api(exchange.asked, type(error).__name__, UNKNOWN)


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

    def __init__(self, inner: object, exchange: Exchange, most_lines: int) -> None:
        self._inner = inner
        self._exchange = exchange
        self._most_lines = most_lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._inner, httpx2.AsyncByteStream)
        held = bytearray()
        total = lines = 0
        async for chunk in self._inner:
            self._exchange.watch.hear()
            known = len(held)
            held += chunk
            total += len(chunk)
            ends = _find_ends(held, max(0, known - 2))
            first = ends[0] if ends else len(held)
            lines += _count_lines(held, known, first)
            if total > STREAM_LIMIT or first > EVENT_LIMIT or lines > self._most_lines:
                raise too_long(self._exchange.asked.provider)
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
