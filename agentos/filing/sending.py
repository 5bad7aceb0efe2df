"""Send an issue to GitHub exactly once, whenever a kill comes and whichever answer is lost.

An intent with a marker is on the disk before GitHub is asked, the marker is in the issue's body, and the number is on
the disk afterwards. Where an intent has no number, the issue is looked for by its marker: in the list of issues, as the
search is behind by minutes. A request can also be on its way while its sender is dead already, so an issue that is not
there counts as not sent only when enough time has passed for GitHub to have given the request up.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentos.documents.issue_filing import Filable
from agentos.errors import BadInput
from agentos.filing.record import Filing, new_marker, read_filing, write_filing
from agentos.github import Repository, Unavailable, Unclear, find_repository
from agentos.github.answers import api_time
from agentos.github.client import Client

TITLE_LIMIT = 256
BODY_LIMIT = 65_536
ATTEMPTS = 3
SETTLING = 15.0
"""Seconds after which a request has had its effect or never will: GitHub itself ends one after 10."""
CLOCK_MARGIN = 300.0


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends issues to one repository; whoever calls holds the item's lock."""

    client: Client
    repository: Repository
    labels: tuple[str, ...]

    def send(self, issue: Filable, path: Path) -> tuple[Filing, tuple[str, ...]]:
        """Return the filing with its number, and the labels that GitHub left out; `path` is where it is kept."""
        filing = read_filing(path)
        if filing is not None and not filing.number:
            filing = self._look_for(filing)
            if filing.number:
                write_filing(path, filing)
        if filing is not None and filing.number:
            return filing, ()
        if filing is None or filing.repository != str(self.repository):
            marker = new_marker() if filing is None else filing.marker
            filing = Filing(str(self.repository), marker, since=self.client.now - CLOCK_MARGIN)
        content = self._content(issue, filing)
        for _ in range(ATTEMPTS):
            filing = replace(filing, sent=time.time(), content=hash_of(issue))
            write_filing(path, filing)
            created, trouble = self._create(content)
            known = _number_of(created, filing) or self._look_for(filing)
            if known.number:
                write_filing(path, known)
                return known, _left_out(self.labels, created)
        raise Unavailable(f"{trouble}, {ATTEMPTS} times; run again with --file")

    def _create(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
        try:
            return self.client.create(self.repository, f"{self.repository.path}/issues", content), "no number came back"
        except Unclear as error:
            return {}, str(error)

    def _content(self, issue: Filable, filing: Filing) -> dict[str, Any]:
        title = issue.title if len(issue.title) <= TITLE_LIMIT else issue.title[: TITLE_LIMIT - 3] + "..."
        body = f"{issue.body}\n{filing.comment}\n"
        if not title:
            raise BadInput("it has no title; give its document a heading")
        if len(body) > BODY_LIMIT:
            raise BadInput(f"it has {len(body):,} characters, GitHub takes {BODY_LIMIT:,}; shorten its document")
        content: dict[str, Any] = {"title": title, "body": body}
        if self.labels:
            content["labels"] = list(self.labels)
        return content

    def _look_for(self, filing: Filing) -> Filing:
        """Return the filing with its number when the issue is there, now or when the request has had its time."""
        found = self._search(filing)
        left = min(SETTLING, filing.sent + SETTLING - time.time())
        if found is not None or left <= 0:
            return found or filing
        if self.client.pause(left):
            raise Unavailable("stopped")
        return self._search(filing) or filing

    def _search(self, filing: Filing) -> Filing | None:
        repository = find_repository(filing.repository) or self.repository
        since = api_time(filing.since)
        for issue in self.client.list(
            repository, f"{repository.path}/issues", state="all", sort="created", direction="desc", since=since
        ):
            if filing.comment in str(issue.get("body")) and "pull_request" not in issue:
                return _number_of(issue, filing)
            if str(issue.get("created_at", since)) < since:
                return None
        return None


def hash_of(issue: Filable) -> str:
    """Return by what it is known whether an issue is still the one that was sent."""
    return hashlib.sha256(f"{issue.title}\n{issue.body}".encode("utf-8", "replace")).hexdigest()


def _number_of(issue: Mapping[str, Any], filing: Filing) -> Filing | None:
    number = issue.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        return None
    return replace(filing, number=number, url=str(issue.get("html_url", ""))[:500])


def _left_out(labels: tuple[str, ...], created: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels that were asked for and not given: GitHub drops them when the token may not set any."""
    given = created.get("labels")
    if not isinstance(given, list):
        return ()
    names = {str(label.get("name") if isinstance(label, dict) else label).casefold() for label in given}
    return tuple(label for label in labels if label.casefold() not in names)
