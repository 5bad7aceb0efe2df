"""Find out where issues are to be filed, and refuse early what could not work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from agentos.errors import UsageError
from agentos.filing.desk import Desk, Tell
from agentos.filing.place import Place
from agentos.filing.sending import Sender
from agentos.github import SCHEME, Repository, read_repository
from agentos.github.address import find_origin, read_server
from agentos.github.client import Client
from agentos.github.token import find_token


def find_target(wish: str, source: str, clone: Path, environ: Mapping[str, str]) -> Repository:
    """Return the repository that was named, else that of the clone's `origin`, else that of the source."""
    if wish:
        return read_repository(wish, "--file")
    named = read_repository(source, "--source") if source else None
    origin = find_origin(clone, read_server(environ), environ)
    if origin and named and str(origin).casefold() != str(named).casefold():
        raise UsageError(f"--file: origin is {origin}, the source {named}; say which with --file {SCHEME}:owner/name")
    if target := origin or named:
        return target
    raise UsageError(
        f"--file: the remote origin of {clone} is not on GitHub; name the repository with --file {SCHEME}:owner/name"
    )


def open_desk(
    target: Repository,
    labels: tuple[str, ...],
    place: Place,
    environ: Mapping[str, str],
    announce: Callable[[str], None],
    tell: Tell,
) -> Desk:
    """Return the desk for a repository that exists and takes issues."""
    server = read_server(environ)
    token = find_token(environ, server.host)
    if token is None:
        raise UsageError("--file: needs a token; set GITHUB_TOKEN, or run: gh auth login")
    client = Client(server, token, announce)
    repository, facts = client.find_repository(target)
    if facts.get("archived") is True:
        raise UsageError(f"--file: {repository} is archived and takes no issues")
    if facts.get("has_issues") is False:
        raise UsageError(f"--file: {repository} has its issues switched off")
    return Desk(Sender(client, repository, labels), place, tell)
