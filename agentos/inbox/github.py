"""The open issues of a repository on GitHub as inbox; they are listed once and their texts kept."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentos.errors import BadInput, UsageError
from agentos.github import FILING_MARK, SCHEME, GitHubError, Repository
from agentos.github.address import read_server
from agentos.github.client import Client
from agentos.github.token import find_token
from agentos.inbox import Collected, Reject, Source, Whereabouts
from agentos.inbox.directory import INPUT_LIMIT, decode_text, set_apart_taken
from agentos.task import Task, Workflow

ISSUES_LIMIT = 20_000
TEXT_LIMIT = 400_000_000
"""Characters that the texts of all issues may have together."""
LOOKED_UP = 20
"""Up to how many issues that were named are asked for one by one instead of being found in the list."""
TITLE_LIMIT = 1_000
NUMBER_LIMIT = 18
"""Digits that the number of an issue may have."""

_UNTITLED = dict.fromkeys((*range(32), *range(127, 160), 8232, 8233), " ")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which issues of a repository are items."""

    labels: tuple[str, ...] = ()
    """All of which an issue has to have."""
    milestone: str = ""
    """Its title or number; empty for any."""
    numbers: tuple[str, ...] = ()
    """The issues that were named; empty for all."""


class GitHubInbox:
    """Open issues, pull requests aside; each is read as the Markdown file it could have been."""

    def __init__(self, client: Client, repository: Repository, wanted: Wanted, clone: Path, workflow: Workflow) -> None:
        self._client = client
        self._repository = repository
        self._wanted = wanted
        self._clone = clone
        self._workflow = workflow
        self._sources: dict[str, Source] = {}

    def collect(self) -> Collected:
        """List the issues, asking GitHub the first time; refuse labels and milestones that do not exist."""
        with closing(self._client):
            self._repository, _ = self._client.find_repository(self._repository)
            repository = self._repository
            tasks: list[Task] = []
            size = 0
            for issue in self._list(repository):
                number = str(issue["number"])
                if number in self._sources:
                    continue
                source = read_issue(issue, repository)
                self._sources[number] = source
                tasks.append(Task(self._workflow, number, f"{SCHEME}:{repository.refer(issue['number'])}"))
                size += len(source.text)
                if len(tasks) > ISSUES_LIMIT or size > TEXT_LIMIT:
                    raise UsageError(f"{repository}: too many open issues for one run; name a --label or a --milestone")
            if not tasks:
                self._check_labels(repository)
        return Collected(*set_apart_taken(tasks, list[Reject](), self._clone, self._workflow))

    def load(self, task: Task) -> Source:
        """Return the text of an issue as it was listed."""
        return self._sources.get(task.item) or Source("", "", f"{task.source}: is not among the open issues")

    def digest(self, task: Task) -> str:
        """Return the hash of an issue's text."""
        return self.load(task).digest

    def look_up(self, items: Iterable[str]) -> dict[str, Whereabouts]:
        """Ask about issues that were not listed, one by one; those beyond a bound stay unasked."""
        known = {item: Whereabouts.UNASKED if _may_be_number(item) else Whereabouts.MISSING for item in items}
        asked = [item for item, whereabouts in known.items() if whereabouts is Whereabouts.UNASKED][:LOOKED_UP]
        with closing(self._client):
            for item in asked:
                try:
                    issue = next(self._look_up(self._repository, [item]), None)
                except GitHubError:
                    # What an item depends on is worth a remark, not the end of the command.
                    break
                if issue is None:
                    known[item] = Whereabouts.MISSING
                else:
                    is_done = issue.get("state") == "closed" or self._is_own(issue)
                    known[item] = Whereabouts.DONE if is_done else Whereabouts.OPEN
        return known

    def _list(self, repository: Repository) -> Iterator[Mapping[str, Any]]:
        wanted = self._wanted
        milestone = self._find_milestone(repository) if wanted.milestone else ""
        numbers = [number for number in wanted.numbers if number.isdecimal()]
        found: Iterable[Mapping[str, Any]]
        if wanted.numbers and len(numbers) <= LOOKED_UP and not (wanted.labels or milestone):
            found = self._look_up(repository, numbers)
        else:
            parameters = {"state": "open", "sort": "created", "direction": "asc"}
            # The interface has no way to ask for a label with a comma in its name; that one is looked for below.
            if labels := ",".join(label for label in wanted.labels if "," not in label):
                parameters["labels"] = labels
            if milestone:
                parameters["milestone"] = milestone
            found = self._client.list(repository, f"{repository.path}/issues", **parameters)
        return (
            issue
            for issue in found
            if _is_open_issue(issue) and _has_labels(issue, wanted.labels) and not self._is_own(issue)
        )

    def _is_own(self, issue: Mapping[str, Any]) -> bool:
        """Tell an issue that was written from a brief: as a brief again it would be filed again, without end."""
        return self._workflow is Workflow.ISSUE and FILING_MARK in str(issue.get("body"))

    def _look_up(self, repository: Repository, numbers: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        for number in numbers:
            try:
                issue = self._client.get(repository, f"{repository.path}/issues/{number}")
            except GitHubError as error:
                # One that is not there, or no longer, is missed together with the others.
                if error.status not in (404, 410):
                    raise
                continue
            if isinstance(issue, dict):
                yield issue

    def _find_milestone(self, repository: Repository) -> str:
        """Return the number of the milestone that has the wished title or, failing that, number."""
        wished = self._wanted.milestone
        titles = {
            str(entry.get("title")): str(entry.get("number"))
            for entry in self._client.list(repository, f"{repository.path}/milestones", state="all")
        }
        if wished in titles:
            return titles[wished]
        if wished in titles.values():
            return wished
        raise UsageError(f"{repository} has no milestone {wished!r}{_suggest(wished, titles)}")

    def _check_labels(self, repository: Repository) -> None:
        if not self._wanted.labels:
            return
        listed = self._client.list(repository, f"{repository.path}/labels")
        names = {str(entry.get("name")) for entry in listed}
        known = {name.casefold() for name in names}
        for label in self._wanted.labels:
            if label.casefold() not in known:
                raise UsageError(f"{repository} has no label {label!r}{_suggest(label, names)}")


def open_inbox(
    repository: Repository,
    wanted: Wanted,
    clone: Path,
    workflow: Workflow,
    environ: Mapping[str, str],
    announce: Callable[[str], None],
) -> GitHubInbox:
    """Return the inbox, with the token that can be found or, for a public repository, without one."""
    server = read_server(environ)
    token = find_token(environ, server.host)
    client = Client(server, token, announce)
    if token is None:
        announce("Warning: no GITHUB_TOKEN: GitHub is read as anybody may, 60 requests an hour at the most")
    return GitHubInbox(client, repository, wanted, clone, workflow)


def read_issue(issue: Mapping[str, Any], repository: Repository) -> Source:
    """Return an issue as the text that a file in `docs/issues` would have; one that cannot be used has a hash too."""
    name = repository.refer(issue["number"])
    text = render_issue(issue["number"], str(issue.get("title") or ""), str(issue.get("body") or ""))
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    if len(data) > INPUT_LIMIT:
        return Source("", digest, f"{name}: is {len(data) / 1e6:.1f} MB, the limit is {INPUT_LIMIT / 1e6:.0f} MB")
    try:
        return Source(decode_text(data, name), digest)
    except BadInput as error:
        return Source("", digest, str(error))


def render_issue(number: int, title: str, body: str) -> str:
    """Put title and body together; the title is one line whatever is in it, and line ends are those of files."""
    heading = " ".join(title[:TITLE_LIMIT].translate(_UNTITLED).split())
    text = body.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\n")
    whole = f"# {number} - {heading}\n\n{text}\n"
    # JSON can hold halves of characters, which no file can.
    return whole.encode("utf-8", "replace").decode()


def _may_be_number(item: str) -> bool:
    return item.isascii() and item.isdigit() and len(item) <= NUMBER_LIMIT


def _is_open_issue(issue: Mapping[str, Any]) -> bool:
    number = issue.get("number")
    is_number = isinstance(number, int) and not isinstance(number, bool) and number > 0
    return is_number and issue.get("state", "open") == "open" and "pull_request" not in issue


def _has_labels(issue: Mapping[str, Any], wanted: tuple[str, ...]) -> bool:
    labels = issue.get("labels")
    names = {
        str(label.get("name") if isinstance(label, dict) else label).casefold()
        for label in (labels if isinstance(labels, list) else ())
    }
    return all(label.casefold() in names for label in wanted)


def _suggest(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    if close := difflib.get_close_matches(word, names, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(map(repr, names[:10]))}" if names else "; it has none at all"
