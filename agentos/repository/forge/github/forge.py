"""GitHub as a forge: its JSON as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from itertools import islice
from typing import Any

from agentos.repository.forge import (
    Absent,
    Author,
    ForgeComment,
    ForgeIssue,
    ForgeRepository,
    Limits,
    Milestone,
    Proposal,
    Pull,
    RepositoryFacts,
    Unclear,
)
from agentos.repository.forge.github import SCHEME, find_repository
from agentos.repository.forge.github.answers import api_time, read_time
from agentos.repository.forge.github.client import Client

TRUSTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""Associations of an author with the repository that make the author trusted."""
COMMENTS_LIMIT = 1_000
"""Maximum number of comments of one sort that are read of a pull request."""
WORD_LIMIT = 500
"""Maximum number of characters in a name, a branch or an address."""


class GitHub(Client):
    """A GitHub server."""

    label = "GitHub"
    # GitHub ends a request after 10 seconds.
    limits = Limits(title=256, body=65_536, settling=15.0)

    @property
    def token_advice(self) -> str:
        """What to do to have a token; empty if there is one."""
        if self._token is not None:
            return ""
        return "set GITHUB_TOKEN, or run: gh auth login"

    def at(self, name: str) -> GitHub:
        """Return another repository on the same server."""
        if name == self.repository.name:
            return self
        other = copy(self)
        other.repository = ForgeRepository(SCHEME, name)
        return other

    def describe(self) -> RepositoryFacts:
        """Return facts about the repository, and learn its present name."""
        if self._token is None:
            self._announce(
                "Warning: no GITHUB_TOKEN: GitHub allows at most 60 requests an hour"
                " without one"
            )
        data = self.get("")
        # A redirect keeps no parameters, so the old name of a renamed repository is
        # used only here.
        present = find_repository(_text(data, "full_name"))
        self.repository = present or self.repository
        return RepositoryFacts(
            is_archived=data.get("archived") is True,
            has_issues=data.get("has_issues") is not False,
            default_branch=_text(data, "default_branch") or "main",
        )

    def list_issues(
        self,
        labels: tuple[str, ...] = (),
        milestone: Milestone | None = None,
    ) -> Iterator[ForgeIssue]:
        """Yield the open issues that have all the labels, the oldest first."""
        parameters = {"state": "open", "sort": "created", "direction": "asc"}
        # The API cannot ask for a label with a comma in its name; it is checked below.
        asked = ",".join(label for label in labels if "," not in label)
        if asked:
            parameters["labels"] = asked
        if milestone is not None:
            parameters["milestone"] = milestone.number
        wanted = set(map(str.casefold, labels))
        for data in self.list("/issues", **parameters):
            issue = _read_issue(data)
            if issue is None or issue.is_pull or not issue.is_open:
                continue
            if wanted <= set(map(str.casefold, issue.labels)):
                yield issue

    def list_created(self, since: float) -> Iterator[ForgeIssue]:
        """Yield the issues created since a time, open or not, the newest first."""
        start = api_time(since)
        parameters = {"state": "all", "sort": "created", "direction": "desc"}
        for data in self.list("/issues", since=start, **parameters):
            # GitHub filters by the time of the last change.
            if str(data.get("created_at", start)) < start:
                return
            issue = _read_issue(data)
            if issue is not None and not issue.is_pull:
                yield issue

    def read_issue(self, number: int) -> ForgeIssue | None:
        """Return an issue in any state, None if it does not exist."""
        try:
            return _read_issue(self.get(f"/issues/{number}"))
        except Absent:
            return None

    def create_issue(
        self,
        title: str,
        body: str,
        labels: tuple[str, ...],
    ) -> ForgeIssue:
        """Create an issue; raise `Unclear` if it is unknown whether it was created."""
        content: dict[str, Any] = {"title": title, "body": body}
        if labels:
            content["labels"] = list(labels)
        created = _read_issue(self.create("/issues", content))
        if created is None:
            raise Unclear("no number came back")
        return created

    def list_comments(self, number: int) -> Iterator[ForgeComment]:
        """Yield the comments on an issue, the oldest first."""
        for data in self.list(f"/issues/{number}/comments"):
            comment = _read_comment(data)
            if comment is not None:
                yield comment

    def create_comment(self, number: int, body: str) -> ForgeComment:
        """Comment on an issue; raise `Unclear` if it is unknown whether that worked."""
        data = self.create(f"/issues/{number}/comments", {"body": body})
        created = _read_comment(data)
        if created is None:
            raise Unclear("no id came back")
        return created

    def list_labels(self) -> Iterator[str]:
        """Yield the names of the labels."""
        for data in self.list("/labels"):
            yield _text(data, "name")

    def list_milestones(self) -> Iterator[Milestone]:
        """Yield the milestones in any state."""
        for data in self.list("/milestones", state="all"):
            yield Milestone(_text(data, "number"), _text(data, "title"))

    def find_commit(self, branch: str) -> str:
        """Return the commit of a branch, empty if the branch is not there."""
        try:
            data = self.get(f"/git/ref/heads/{branch}")
        except Absent:
            return ""
        return _text(_part(data, "object"), "sha")

    def list_pulls(self, branch: str) -> Iterator[Pull]:
        """Yield the pull requests of a branch of this repository, in any state."""
        owner = self.repository.name.partition("/")[0]
        head = f"{owner}:{branch}"
        for data in self.list("/pulls", head=head, state="all"):
            pull = _read_pull(data)
            # GitHub ignores a filter that it does not understand.
            origin = _part(data, "head")
            is_of_branch = origin.get("ref") == branch
            name = _text(_part(origin, "repo"), "full_name")
            if pull and is_of_branch and self.repository.is_named(name):
                yield pull

    def list_pull_comments(self, number: int) -> Iterator[ForgeComment]:
        """Yield what was said about a pull request, the oldest first."""
        paths = (
            f"/pulls/{number}/reviews",
            f"/pulls/{number}/comments",
            f"/issues/{number}/comments",
        )
        found = []
        for path in paths:
            for data in islice(self.list(path), COMMENTS_LIMIT):
                comment = _read_comment(data)
                # A review may say nothing but what its remarks say.
                if comment is not None and comment.body.strip():
                    found.append(comment)
        found.sort(key=lambda comment: comment.written)
        yield from found

    def create_pull(self, proposal: Proposal) -> Pull:
        """Open a pull request."""
        content = {
            "title": proposal.title,
            "head": proposal.branch,
            "base": proposal.base,
            "body": proposal.body,
            "draft": proposal.is_draft,
        }
        created = _read_pull(self.create("/pulls", content))
        if created is None:
            raise Unclear("no number came back")
        return created


def _read_issue(data: Mapping[str, Any]) -> ForgeIssue | None:
    """Return an issue, None if it has no number."""
    number = _whole_of(data, "number")
    if not number:
        return None
    names = []
    labels = data.get("labels")
    for label in labels if isinstance(labels, list) else ():
        if isinstance(label, dict):
            label = label.get("name")
        names.append(str(label))
    return ForgeIssue(
        number=number,
        title=str(data.get("title") or ""),
        body=str(data.get("body") or ""),
        author=_read_author(data),
        labels=tuple(names),
        url=_text(data, "html_url"),
        is_open=data.get("state", "open") == "open",
        is_pull="pull_request" in data,
        comments=_whole_of(data, "comments"),
    )


def _read_comment(data: Mapping[str, Any]) -> ForgeComment | None:
    """Return a comment, None if it has no id."""
    id = _whole_of(data, "id")
    if not id:
        return None
    moment = _text(data, "created_at") or _text(data, "submitted_at")
    return ForgeComment(
        id=id,
        author=_read_author(data),
        body=str(data.get("body") or ""),
        date=moment[:10],
        url=_text(data, "html_url"),
        written=read_time(moment),
        place=_place_of(data),
    )


def _place_of(data: Mapping[str, Any]) -> str:
    """Return the file and the line that a remark is about, empty if it is about none."""
    path = _text(data, "path")
    # A line that was changed since has only its original number.
    line = _whole_of(data, "line") or _whole_of(data, "original_line")
    if not path or not line:
        return path
    return f"{path}, line {line}"


def _read_author(data: Mapping[str, Any]) -> Author:
    user = _part(data, "user")
    # The account of somebody who left GitHub is shown as this one.
    name = _text(user, "login") or "ghost"
    association = _text(data, "author_association")
    if user.get("type") == "Bot":
        # A bot writes what others have it write.
        return Author(name, "bot", is_trusted=False, is_bot=True)
    role = association.lower() or "unknown"
    return Author(name, role, association in TRUSTED)


def _read_pull(data: Mapping[str, Any]) -> Pull | None:
    """Return a pull request, None if it has no number."""
    number = _whole_of(data, "number")
    if not number:
        return None
    state = "closed"
    if data.get("state") == "open":
        state = "open"
    elif data.get("merged_at"):
        state = "merged"
    return Pull(
        number=number,
        url=_text(data, "html_url"),
        state=state,
        is_draft=data.get("draft") is True,
        base=_text(_part(data, "base"), "ref"),
        commit=_text(_part(data, "head"), "sha"),
    )


def _whole_of(data: Mapping[str, Any], name: str) -> int:
    """Return a whole number that is not negative, 0 if there is none."""
    number = data.get(name)
    if isinstance(number, bool) or not isinstance(number, int):
        return 0
    return max(0, number)


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = data.get(name)
    return part if isinstance(part, Mapping) else {}


def _text(data: Mapping[str, Any], name: str) -> str:
    return str(data.get(name) or "")[:WORD_LIMIT]
