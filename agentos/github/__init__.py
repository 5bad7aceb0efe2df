"""GitHub as a place where issues wait and where finished ones are filed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.errors import UsageError

SCHEME = "github"
FILING_MARK = "<!-- agentos-filing:"
"""How the comment begins by which an issue that we filed is known."""

_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class GitHubError(UsageError):
    """GitHub refuses something, now and always; `status` is the one it answered with, 0 for none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Unavailable(GitHubError):
    """GitHub cannot be had for now: the same command may go on later."""


class Unclear(Unavailable):
    """Nobody knows whether GitHub has done what it was asked for: its answer did not arrive."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository on GitHub."""

    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def path(self) -> str:
        """Where it is in the API."""
        return f"/repos/{self.owner}/{self.name}"

    def refer(self, number: int) -> str:
        """Name one of its issues as GitHub does: `owner/name#42`."""
        return f"{self}#{number}"


def read_repository(text: str, flag: str) -> Repository:
    """Read `github:owner/name`, or raise `UsageError` with the form that is expected."""
    scheme, colon, address = text.partition(":")
    if colon and scheme != SCHEME:
        raise UsageError(f"{flag}: unknown scheme {scheme!r} in {text!r}; use {SCHEME}:owner/name")
    repository = find_repository(address) if colon else None
    if repository is None:
        raise UsageError(f"{flag}: must be {SCHEME}:owner/name, not {text!r}")
    return repository


def find_repository(path: str) -> Repository | None:
    """Return the repository that `owner/name` or `owner/name.git` names, or None when it names none."""
    owner, _, name = path.partition("/")
    name = name.removesuffix(".git")
    if not _OWNER.fullmatch(owner) or not _NAME.fullmatch(name) or name in (".", ".."):
        return None
    return Repository(owner, name)
