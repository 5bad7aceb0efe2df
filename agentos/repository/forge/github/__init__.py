"""GitHub, the public one or a company's own server."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentos.repository.forge import Announce, Forge, ForgeRepository

SCHEME = "github"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.\.?$)[A-Za-z0-9._-]{1,100}")


def find_repository(name: str) -> ForgeRepository | None:
    """Return the repository named `owner/name` or `owner/name.git`, None if the name is not
    valid.
    """
    name = name.removesuffix(".git")
    if not _NAME.fullmatch(name):
        return None
    return ForgeRepository(SCHEME, name)


def find_host(environ: Mapping[str, str]) -> str:
    """Return the host in the addresses of git remotes."""
    from agentos.repository.forge.github.address import read_server

    return read_server(environ).host


def read_remote(address: str, environ: Mapping[str, str]) -> ForgeRepository | None:
    """Read the address of a remote in any form that git accepts."""
    from agentos.repository.forge.github.address import find_path, read_server

    path = find_path(address, read_server(environ))
    return find_repository(path)


def open_forge(
    repository: ForgeRepository, environ: Mapping[str, str], announce: Announce
) -> Forge:
    """Return a repository on GitHub; without a token it can only be read, where it is
    public.
    """
    from agentos.repository.forge.github.address import read_server
    from agentos.repository.forge.github.forge import GitHub
    from agentos.repository.forge.github.token import find_token

    server = read_server(environ)
    return GitHub(repository, server, find_token(environ, server.host), announce)
