"""HTTP layer of all network providers: key header, timeouts, limits and errors are
ours, whatever the SDK does.

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

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers import on_sending
from agentos.gateway.providers.classify import (
    CallInfo,
    classify,
    clean_words,
    read_refusal,
)
from agentos.gateway.providers.complaints import Complaint
from agentos.gateway.providers.rate_headers import read_rate_headers
from agentos.gateway.providers.waiting import USUAL, SilenceWatch
from agentos.usage import NOTHING, UNKNOWN, Consumed

if TYPE_CHECKING:
    from agentos.gateway.providers.streaming import StreamedAnswer

CONNECT_TIMEOUT = 15.0
STREAM_LIMIT = 256_000_000
EVENT_LIMIT = 16_000_000
EVENT_LINES = 2_000
ERROR_LIMIT = 1_000_000

# Environment variables can make an SDK send another key in any of these.
_KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
# `SilenceWatch` measures silence; it can tell a suspended process from a silent server.
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
"""Errors before the whole request has reached the server, so that nothing is billed."""


@dataclass(slots=True)
class Exchange:
    """What one call sent and received; the call can close its connection whatever the
    SDK does.
    """

    asked: CallInfo
    watch: SilenceWatch = field(default_factory=lambda: SilenceWatch(USUAL))
    responses: list[httpx2.Response] = field(default_factory=list)
    answer: StreamedAnswer | None = None
    """The answer so far."""
    has_begun: bool = False
    """Whether a part of the answer was parsed."""
    streams: bool = False
    """Whether a stream is expected."""
    complaint: Complaint | None = None
    """Why the server has just refused the request."""

    def take(self, answer: StreamedAnswer) -> None:
        """Note that a part of the answer was parsed."""
        self.has_begun = True
        if answer.has_text:
            self.watch.begin()

    def consumed(self) -> Consumed:
        """Return what a failed call has consumed, as far as it is known."""
        if self.answer is None or not self.has_begun:
            return UNKNOWN
        return self.answer.consumed()

    @property
    def headers(self) -> httpx2.Headers:
        """Headers of the last response."""
        return self.responses[-1].headers if self.responses else httpx2.Headers()

    async def close(self) -> None:
        """Close what is still open."""
        for response in self.responses:
            with suppress(Exception):
                await response.aclose()


current_exchange: ContextVar[Exchange] = ContextVar("current_exchange")


@dataclass(frozen=True, slots=True)
class Edge:
    """Hooks of one HTTP client, which belongs to one key and one address."""

    secret: str = field(repr=False)
    key_header: str
    key_prefix: str

    async def prepare(self, request: httpx2.Request) -> None:
        """Set the leased key and our timeout."""
        mine = (self.secret, f"{self.key_prefix}{self.secret}")
        for name in _KEY_HEADERS:
            if request.headers.get(name) not in mine:
                request.headers.pop(name, None)
        if not any(name in request.headers for name in _KEY_HEADERS):
            request.headers[self.key_header] = mine[1]
        # Decompression could turn a small response into a huge one behind the limits.
        request.headers["accept-encoding"] = "identity"
        request.extensions["timeout"] = _TIMEOUT.as_dict()
        on_sending.get()()

    async def inspect(self, response: httpx2.Response) -> None:
        """Refuse what is not a response of the API, and bound what is."""
        exchange = current_exchange.get()
        exchange.responses.append(response)
        exchange.watch.hear()
        if not 200 <= response.status_code < 300:
            body = _parse(await _read_start(response))
            refusal = classify(
                response.status_code,
                body,
                response.headers,
                time.time(),
                exchange.asked,
            )
            complaint = read_refusal(body)
            if refusal.cause is FailureCause.BAD_REQUEST or complaint.is_about_length:
                exchange.complaint = complaint
            refusal.rate_headers = read_rate_headers(response.headers, time.time())
            raise refusal
        content_type = response.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        is_json = kind.endswith("json")
        if _is_compressed(response):
            raise not_the_api(exchange.asked, f"{kind}, compressed", UNKNOWN)
        if is_json and exchange.streams:
            raise await _explain_single(response, exchange.asked)
        if kind and not is_json and kind != "text/event-stream":
            raise not_the_api(exchange.asked, kind)
        most_lines = EVENT_LIMIT if is_json else EVENT_LINES
        response.stream = _BoundedStream(response.stream, exchange, most_lines)


async def _explain_single(response: httpx2.Response, asked: CallInfo) -> ProviderError:
    """Return the error for one JSON document instead of a stream: an error, or another
    API.
    """
    body = _parse(await _read_start(response))
    first = body[0] if isinstance(body, list) and body else body
    if isinstance(first, dict) and first.get("error"):
        return classify(200, body, response.headers, time.time(), asked)
    # A complete answer of a server that does not stream may be billed.
    return not_the_api(asked, "one JSON document, no stream", UNKNOWN)


def make_http_client(
    edge: Edge, verify: ssl.SSLContext, base_url: str
) -> httpx2.AsyncClient:
    """Return a client for one key; it follows no redirects, since a key must not go to
    another address.
    """
    return httpx2.AsyncClient(
        verify=verify,
        limits=_LIMITS,
        timeout=_TIMEOUT,
        event_hooks={"request": [edge.prepare], "response": [edge.inspect]},
        # The proxies of the environment are for the network, not for servers on this
        # machine.
        trust_env=not is_loopback(base_url),
    )


def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return (
            host == "localhost"
            or host.endswith(".localhost")
            or ipaddress.ip_address(host).is_loopback
        )
    except ValueError:
        return False


def not_the_api(
    asked: CallInfo, what: str, consumed: Consumed = NOTHING
) -> ProviderError:
    """Return the error for a response that is not from such an API."""
    shown = clean_words(what, asked.secret, 80)
    return ProviderError(
        f"{asked.provider} answered something that is not the API ({shown}): check the"
        " base URL",
        cause=FailureCause.BAD_REQUEST,
        consumed=consumed,
    )


def convert(error: Exception, exchange: Exchange) -> ProviderError:
    """Return our error for an error of an SDK, with nothing of the SDK attached."""
    chain = _chain(error)
    converted = _convert(error, chain, exchange)
    if converted.consumed is None:
        is_unsent = any(isinstance(link, _NEVER_SENT) for link in chain)
        converted.consumed = NOTHING if is_unsent else exchange.consumed()
    return converted


def _convert(
    error: Exception, chain: list[BaseException], exchange: Exchange
) -> ProviderError:
    who = exchange.asked.provider
    for link in chain:
        if isinstance(link, ProviderError):
            return link.detached()
    for link in chain:
        if isinstance(link, httpx2.ConnectTimeout):
            return ProviderError(
                f"{who} could not be reached within {CONNECT_TIMEOUT:g} s"
            )
        if isinstance(
            link,
            httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError,
        ):
            return ProviderError(
                f"{who} cannot be asked at this address: check the base URL",
                cause=FailureCause.BAD_REQUEST,
            )
        if isinstance(link, httpx2.ConnectError | httpx2.ProxyError):
            return ProviderError(
                f"{who} could not be reached:"
                f" {clean_words(str(link), exchange.asked.secret, 120)}"
            )
        if isinstance(link, TimeoutError):
            return ProviderError(f"{who} {exchange.watch.silence.describe_end()}")
        if isinstance(link, httpx2.RequestError | OSError):
            return ProviderError(
                f"{who}: the connection was cut off ({type(link).__name__})"
            )
    body = _error_body(chain)
    if body is not None:
        return classify(200, body, exchange.headers, time.time(), exchange.asked)
    if not exchange.responses:
        return ProviderError(
            f"{who} could not be asked ({type(error).__name__})", consumed=NOTHING
        )
    if exchange.has_begun:
        return ProviderError(
            f"{who}: the answer was cut off or garbled ({type(error).__name__})"
        )
    return not_the_api(exchange.asked, type(error).__name__, UNKNOWN)


def _chain(error: BaseException | None) -> list[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def _error_body(chain: list[BaseException]) -> object | None:
    """Return the JSON of an error inside a stream; SDKs keep it as `body` or `details`."""
    for link in chain:
        for name in ("body", "details"):
            body = getattr(link, name, None)
            if isinstance(body, dict):
                return body
    return None


def _is_compressed(response: httpx2.Response) -> bool:
    encoding = response.headers.get("content-encoding", "identity")
    return encoding.strip().lower() not in ("", "identity")


async def _read_start(response: httpx2.Response) -> bytes:
    """Read an error's body up to a limit that no provider reaches."""
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
    """Pass on whole events, up to a size that no real answer reaches.

    An event ends with an empty line. Some SDKs need time that grows with the square of
    the chunks or lines of an event: so each event is passed on as one chunk, and its
    lines are counted.
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
    """Return where the first and the last event end, None without an end."""
    marks = [
        mark for mark in (b"\n\n", b"\n\r\n", b"\r\r") if data.find(mark, start) >= 0
    ]
    if not marks:
        return None
    first = min(data.find(mark, start) + len(mark) for mark in marks)
    return first, max(data.rfind(mark, start) + len(mark) for mark in marks)


def _count_lines(data: bytearray, start: int, end: int) -> int:
    return data.count(b"\n", start, end) + data.count(b"\r", start, end)


def too_long(who: str) -> ProviderError:
    """Return the error for an endless answer."""
    return ProviderError(
        f"{who}: the response exceeds every plausible length; stopped reading",
        cause=FailureCause.BAD_ANSWER,
    )
