"""Find the GitHub server, and which remotes are on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentos.errors import UsageError

VARIABLE = "GITHUB_API_URL"
DEFAULT = "https://api.github.com"

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Server:
    """The public GitHub, or a company's own server."""

    api: str
    """Base URL of the API, without a trailing slash."""
    host: str
    """Host name in the URLs of clones, and for `gh`."""


def read_server(environ: Mapping[str, str]) -> Server:
    """Return the server that the environment names, or the public one."""
    address = (environ.get(VARIABLE) or DEFAULT).strip().rstrip("/")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(
            f"{VARIABLE}: {address!r} is not an address; use one such as {DEFAULT}"
        ) from None
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not host or not is_plain:
        raise UsageError(
            f"{VARIABLE}: must be an address such as {DEFAULT} or https://HOST/api/v3"
        )
    if parts.scheme == "http" and host not in LOOPBACK:
        raise UsageError(
            f"{VARIABLE}: a token is not sent without encryption; use https://{host}"
        )
    return Server(address, host.removeprefix("api."))


def find_path(address: str, server: Server) -> str:
    """Return the path in the address of a remote, empty if it is not on this server."""
    if "://" in address:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return ""
    else:
        host, _, path = address.partition(":")
        host = host.rpartition("@")[2]
    if host.lower().removeprefix("ssh.") not in (server.host, f"www.{server.host}"):
        return ""
    return path.strip("/")
