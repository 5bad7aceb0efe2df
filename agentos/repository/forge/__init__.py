"""Forges: servers where issues come from and are filed, and pull requests are opened.

`Forge` is what AgentOS needs of one. Each kind of forge is a package beside this file,
which `FORGES` finds by the prefix of `github:owner/name`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from agentos.errors import UsageError

FORGES = {"github": "agentos.repository.forge.github"}
"""The package of each kind of forge, by its prefix."""
FILING_MARK = "<!-- agentos-filing:"
"""Beginning of the comment that marks an issue we filed."""
QUESTIONS_MARK = "<!-- agentos-questions:"
"""Beginning of the comment that marks questions we asked."""
NAME_LIMIT = 60
"""Maximum number of characters of an author's name that are shown."""

Announce = Callable[[str], None]
"""Prints a line for the user."""


class ForgeError(UsageError):
    """A forge refuses a request for good."""


class Absent(ForgeError):
    """A forge does not have what was asked for, or does not show it."""


class Invalid(ForgeError):
    """A forge refuses the content of one request; the next may be accepted."""


class Unavailable(ForgeError):
    """A forge is not available now; the same command may work later."""


class Unclear(Unavailable):
    """The response did not arrive, so the forge may or may not have done what was
    asked.
    """


@dataclass(frozen=True, slots=True)
class ForgeRepository:
    """A repository on a forge."""

    scheme: str
    """The prefix of its forge."""
    name: str
    """Its path there, such as `owner/name`."""

    def __str__(self) -> str:
        return self.name

    def refer(self, number: int) -> str:
        """Return the reference to one of its issues: `owner/name#42`."""
        return f"{self.name}#{number}"

    def is_named(self, name: str) -> bool:
        """Tell whether this is its name; a forge ignores case."""
        return self.name.casefold() == name.casefold()


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What a forge says about a repository."""

    is_archived: bool
    has_issues: bool
    default_branch: str


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote an issue or a comment."""

    name: str
    role: str
    """The forge's word for what the author is in the repository."""
    is_trusted: bool
    """Whether that is an owner, a member or a collaborator."""
    is_bot: bool = False
    """Whether a program writes under that name."""

    def __str__(self) -> str:
        # Both are somebody else's words: they stay short and on one line.
        shown = f"{self.name[:NAME_LIMIT]} ({self.role[:NAME_LIMIT]})"
        return " ".join(shown.split())


@dataclass(frozen=True, slots=True)
class ForgeIssue:
    """An issue on a forge, or a pull request: the two share their numbers."""

    number: int
    """At least 1."""
    title: str
    body: str
    author: Author
    labels: tuple[str, ...]
    url: str
    is_open: bool
    is_pull: bool = False
    """Whether it is a pull request."""
    comments: int = 0
    """How many comments it has."""


@dataclass(frozen=True, slots=True)
class ForgeComment:
    """A comment on an issue."""

    id: int
    """At least 1, and greater than those of earlier comments on the issue."""
    author: Author
    body: str
    date: str
    """The day on which it was written, as `2026-06-01`."""
    url: str
    written: float = 0.0
    """When it was written, in seconds since 1970; 0 if the forge does not say."""
    place: str = ""
    """What a review says it about, as `shelf/export.py, line 7`; empty for all of it."""

    @property
    def is_ours(self) -> bool:
        """Whether AgentOS wrote it; who quotes it does not begin a line with the mark."""
        return f"\n{QUESTIONS_MARK}" in f"\n{self.body}"


@dataclass(frozen=True, slots=True)
class Milestone:
    """A milestone of a repository."""

    number: str
    title: str


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request on a forge."""

    number: int
    url: str
    state: str
    """`open`, `closed` or `merged`."""
    is_draft: bool
    base: str
    """The branch to merge into."""
    commit: str
    """The last commit of the pull request."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The content of a pull request to open."""

    branch: str
    base: str
    title: str
    body: str
    is_draft: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """What a forge accepts."""

    title: int
    """Maximum number of characters in a title."""
    body: int
    settling: float
    """Seconds after which a request has taken effect or never will."""


class Forge(Protocol):
    """One repository on a forge; each method that asks the forge may raise
    `ForgeError`.
    """

    repository: ForgeRepository
    """Under its present name, once it is described."""

    @property
    def label(self) -> str:
        """Its name, for messages."""

    @property
    def limits(self) -> Limits:
        """What it accepts."""

    @property
    def token_advice(self) -> str:
        """What to do to have a token; empty if there is one."""

    now: float
    """Time of the last response, by the server's clock."""
    pause: Callable[[float], bool]
    """Waits, and tells whether it was stopped because the run ends."""

    def at(self, name: str) -> Forge:
        """Return another repository on the same forge."""

    def describe(self) -> RepositoryFacts:
        """Return facts about the repository, and learn its present name."""

    def list_issues(
        self,
        labels: tuple[str, ...] = (),
        milestone: Milestone | None = None,
    ) -> Iterator[ForgeIssue]:
        """Yield the open issues that have all the labels, the oldest first."""

    def list_created(self, since: float) -> Iterator[ForgeIssue]:
        """Yield the issues created since a time, open or not, the newest first."""

    def read_issue(self, number: int) -> ForgeIssue | None:
        """Return an issue in any state, None if it does not exist."""

    def create_issue(
        self,
        title: str,
        body: str,
        labels: tuple[str, ...],
    ) -> ForgeIssue:
        """Create an issue; raise `Unclear` if it is unknown whether it was created."""

    def list_comments(self, number: int) -> Iterator[ForgeComment]:
        """Yield the comments on an issue, the oldest first; raise `Absent` if there is no
        such issue.
        """

    def create_comment(self, number: int, body: str) -> ForgeComment:
        """Comment on an issue; raise `Unclear` if it is unknown whether that worked."""

    def list_labels(self) -> Iterator[str]:
        """Yield the names of the labels."""

    def list_milestones(self) -> Iterator[Milestone]:
        """Yield the milestones in any state."""

    def find_commit(self, branch: str) -> str:
        """Return the commit of a branch, empty if the branch is not there."""

    def list_pulls(self, branch: str) -> Iterator[Pull]:
        """Yield the pull requests of a branch of this repository, in any state."""

    def list_pull_comments(self, number: int) -> Iterator[ForgeComment]:
        """Yield what was said about a pull request, the oldest first: comments, reviews
        and their remarks on lines; raise `Absent` if there is no such pull request.
        """

    def create_pull(self, proposal: Proposal) -> Pull:
        """Open a pull request; raise `Invalid` if the branch has an open one, and
        `Unclear` if it is unknown whether one was opened.
        """


class ForgePackage(Protocol):
    """The functions of a package in `FORGES`; only the last asks anybody."""

    def find_repository(self, name: str) -> ForgeRepository | None:
        """Return the repository with this name, None if the name is not valid."""

    def find_host(self, environ: Mapping[str, str]) -> str:
        """Return the host in the addresses of git remotes."""

    def read_remote(
        self, address: str, environ: Mapping[str, str]
    ) -> ForgeRepository | None:
        """Return the repository of a git remote, None if it is not on this forge."""

    def open_forge(
        self,
        repository: ForgeRepository,
        environ: Mapping[str, str],
        announce: Announce,
    ) -> Forge:
        """Return a repository on the server that the environment names, with the token
        found there.
        """


def find_package(scheme: str) -> ForgePackage:
    """Import the package of a kind of forge."""
    return cast(ForgePackage, import_module(FORGES[scheme]))


def open_forge(
    repository: ForgeRepository, environ: Mapping[str, str], announce: Announce
) -> Forge:
    """Return a repository on its forge."""
    return find_package(repository.scheme).open_forge(repository, environ, announce)


def is_source(text: str) -> bool:
    """Tell whether an item's source is on a forge."""
    return text.partition(":")[0] in FORGES


def read_repository(text: str, flag: str) -> ForgeRepository:
    """Read `github:owner/name`, or raise `UsageError` with the expected form."""
    forms = " or ".join(f"{scheme}:owner/name" for scheme in FORGES)
    scheme, colon, name = text.partition(":")
    if colon and scheme not in FORGES:
        raise UsageError(f"{flag}: unknown scheme {scheme!r} in {text!r}; use {forms}")
    repository = find_package(scheme).find_repository(name) if colon else None
    if repository is None:
        raise UsageError(f"{flag}: must be {forms}, not {text!r}")
    return repository
