"""Where GitHub is, and which repository on it a clone came from."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agentos.errors import UsageError
from agentos.github import Repository, find_repository
from agentos.github.token import VARIABLES
from agentos.programs import with_search_path

VARIABLE = "GITHUB_API_URL"
DEFAULT = "https://api.github.com"
GIT_PATIENCE = 5.0

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Server:
    """One GitHub: the public one, or a company's own."""

    api: str
    """Address of its API, without a slash at the end."""
    host: str
    """Name of the host that clones are made from, and that `gh` knows it by."""


def read_server(environ: Mapping[str, str]) -> Server:
    """Return the GitHub that the environment names, or the public one."""
    address = (environ.get(VARIABLE) or DEFAULT).strip().rstrip("/")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{VARIABLE}: {address!r} is no address; use one such as {DEFAULT}") from None
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not host or not is_plain:
        raise UsageError(f"{VARIABLE}: must be an address such as {DEFAULT} or https://HOST/api/v3")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise UsageError(f"{VARIABLE}: a token is not sent without encryption; use https://{host}")
    return Server(address, host.removeprefix("api."))


def find_origin(clone: Path, server: Server, environ: Mapping[str, str]) -> Repository | None:
    """Return the repository that a clone's remote `origin` is on this GitHub, None when it is elsewhere."""
    try:
        asked = subprocess.run(
            ["git", "-C", str(clone), "remote", "get-url", "origin"],
            env=with_search_path({name: value for name, value in environ.items() if name not in VARIABLES}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if asked.returncode != 0:
        return None
    return read_remote(asked.stdout.decode("utf-8", "replace").strip(), server)


def read_remote(address: str, server: Server) -> Repository | None:
    """Read a remote's address in any of the forms that git takes."""
    if "://" in address:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return None
    else:
        host, _, path = address.partition(":")
        host = host.rpartition("@")[2]
    if host.lower().removeprefix("ssh.") not in (server.host, f"www.{server.host}"):
        return None
    return find_repository(path.strip("/"))
