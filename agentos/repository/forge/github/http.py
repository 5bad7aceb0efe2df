"""Send one request to GitHub over HTTP, with the standard library alone.

Nothing is retried here. A redirect is followed for reading, and only on the same
server: the token is sent nowhere else.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from agentos import __version__
from agentos.errors import AgentOSError, UsageError
from agentos.repository.forge import ForgeError
from agentos.repository.forge.github.address import LOOPBACK, VARIABLE, Server
from agentos.repository.forge.github.token import Token
from agentos.state.variables import environment

TIMEOUT = 30
RESPONSE_LIMIT = 64_000_000
REDIRECTS = 3
AUTHORITIES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables with certificates of authorities, beside those that Python itself reads."""
_MOVED = frozenset({301, 302, 307, 308})


class NoResponse(AgentOSError):
    """The server did not respond, or its response broke off."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str


class Http:
    """Sends requests to one server."""

    def __init__(self, server: Server, token: Token | None) -> None:
        self._api = server.api
        self._host = server.host
        self._headers = {
            "Accept": "application/vnd.github+json",
            "User-Agent": f"agentos/{__version__}",
        }
        if token is not None:
            self._headers["Authorization"] = f"token {token.secret}"
        self._opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler(_find_proxies(server)),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=_trust()),
        ):
            self._opener.add_handler(handler)

    def send(
        self,
        verb: str,
        path: str,
        parameters: Mapping[str, str],
        content: Mapping[str, Any] | None,
    ) -> Response:
        """Send a request and read the whole response.

        `path` is a path of the API, or a full address on the same server.
        """
        address = path if "://" in path else self._api + path
        if parameters:
            address += f"?{urlencode(parameters)}"
        for _ in range(REDIRECTS):
            response = self._send_once(verb, address, content)
            target = response.headers.get("location", "")
            if verb != "GET" or response.status not in _MOVED or not target:
                break
            address = urljoin(address, target)
        return response

    def _send_once(
        self, verb: str, address: str, content: Mapping[str, Any] | None
    ) -> Response:
        if not self._is_ours(address):
            raise ForgeError(
                f"{self._api}: refers to another server, which does not get the token;"
                f" check {VARIABLE}"
            )
        body = None
        headers = self._headers
        if content is not None:
            body = json.dumps(content).encode()
            headers = {**headers, "Content-Type": "application/json"}
        request = urllib.request.Request(address, body, headers, method=verb)
        try:
            with self._opener.open(request, timeout=TIMEOUT) as received:
                data = received.read(RESPONSE_LIMIT)
                is_whole = not received.length
        except (OSError, http.client.HTTPException) as error:
            raise self._explain(error) from None
        if not is_whole or len(data) == RESPONSE_LIMIT:
            raise NoResponse("the response is not whole")
        found = {name.lower(): value for name, value in received.headers.items()}
        return Response(received.status, found, data.decode("utf-8", "replace"))

    def _is_ours(self, address: str) -> bool:
        ours = urlsplit(self._api)
        other = urlsplit(address)
        return (ours.scheme, ours.netloc) == (other.scheme, other.netloc)

    def _explain(self, error: Exception) -> AgentOSError:
        """Return what a failure means; the message holds no address and no token."""
        cause: object = error
        if isinstance(error, urllib.error.URLError):
            cause = error.reason
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ForgeError(
                f"{self._host}: its certificate cannot be verified; check {VARIABLE}"
            )
        if isinstance(cause, ssl.SSLError):
            return ForgeError(f"{self._api}: does not speak TLS; check {VARIABLE}")
        return NoResponse(type(cause).__name__)


def _find_proxies(server: Server) -> dict[str, str]:
    """Return the proxies of the environment; a loopback address needs none."""
    if urlsplit(server.api).hostname in LOOPBACK:
        return {}
    proxies = urllib.request.getproxies()
    for scheme in ("http", "https"):
        if "all" in proxies:
            proxies.setdefault(scheme, proxies["all"])
    return proxies


def _trust() -> ssl.SSLContext:
    """Trust the system's authorities and those that the environment names."""
    context = ssl.create_default_context()
    environ = environment()
    for variable in AUTHORITIES:
        place = environ.get(variable)
        if not place:
            continue
        try:
            if Path(place).is_dir():
                context.load_verify_locations(capath=place)
            else:
                context.load_verify_locations(cafile=place)
        except OSError as error:
            raise UsageError(
                f"{variable}: {place} cannot be read ({error.strerror}); correct it"
            ) from None
    return context
