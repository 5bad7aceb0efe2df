"""Send an issue to a forge exactly once, despite kills and lost responses.

An intent with a marker is on the disk before the forge is asked, the marker is in the
issue's body, and the number is on the disk afterwards. If an intent has no number, the
issue is looked for by its marker, in the list of issues, as a search index may lag by
minutes. A request can still be under way when its sender is dead. So a missing issue
counts as not sent only after the forge must have given up on the request.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

from agentos.documents.issue_filing import TrackerIssue
from agentos.errors import BadInput
from agentos.repository.forge import (
    Forge,
    ForgeIssue,
    Unavailable,
    Unclear,
)
from agentos.repository.forge.filing.record import (
    Filing,
    new_marker,
    read_filing,
    write_filing,
)

ATTEMPTS = 3
CLOCK_MARGIN = 300.0


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends issues to one repository; the caller holds the item's lock."""

    forge: Forge
    labels: tuple[str, ...]

    def send(self, issue: TrackerIssue, path: Path) -> tuple[Filing, tuple[str, ...]]:
        """Return the filing with its number, and the labels that the forge did not set.

        `path` is the file of the filing.
        """
        filing = read_filing(path)
        if filing is not None:
            if not filing.number:
                filing = self._look_for(filing)
                if filing.number:
                    write_filing(path, filing)
            if filing.number:
                return filing, ()
        target = self.forge.repository.name
        if filing is None or filing.repository != target:
            marker = new_marker()
            if filing is not None:
                marker = filing.marker
            since = self.forge.now - CLOCK_MARGIN
            filing = Filing(target, marker, since)
        title, body = self._content(issue, filing)
        digest = hash_of(issue)
        missing: tuple[str, ...] = ()
        for _ in range(ATTEMPTS):
            now = time.time()
            filing = replace(filing, sent=now, content=digest)
            write_filing(path, filing)
            try:
                created = self.forge.create_issue(title, body, self.labels)
            except Unclear as error:
                trouble = str(error)
                known = self._look_for(filing)
            else:
                known = _with_number(filing, created)
                missing = _left_out(self.labels, created)
            if known.number:
                write_filing(path, known)
                return known, missing
        message = f"{trouble}, {ATTEMPTS} times; run again with --file"
        raise Unavailable(message)

    def _content(self, issue: TrackerIssue, filing: Filing) -> tuple[str, str]:
        limits = self.forge.limits
        title = issue.title
        if len(title) > limits.title:
            room = limits.title - 3
            title = title[:room] + "..."
        if not title:
            raise BadInput("it has no title; give its document a heading")
        body = f"{issue.body}\n{filing.comment}\n"
        size = len(body)
        if size > limits.body:
            raise BadInput(
                f"it has {size:,} characters, {self.forge.label} takes"
                f" {limits.body:,}; shorten its document"
            )
        return title, body

    def _look_for(self, filing: Filing) -> Filing:
        """Return the filing with its number if the issue exists, now or when the
        request must have settled.
        """
        found = self._search(filing)
        if found is not None:
            return found
        settling = self.forge.limits.settling
        end = filing.sent + settling
        left = end - time.time()
        # The clock may have been set back since.
        left = min(settling, left)
        if left <= 0:
            return filing
        if self.forge.pause(left):
            raise Unavailable("stopped")
        return self._search(filing) or filing

    def _search(self, filing: Filing) -> Filing | None:
        # The item may have been sent to another repository before.
        forge = self.forge.at(filing.repository)
        comment = filing.comment
        for issue in forge.list_created(filing.since):
            if comment in issue.body:
                return _with_number(filing, issue)
        return None


def hash_of(issue: TrackerIssue) -> str:
    """Return a hash that tells whether an issue has changed since it was sent."""
    content = f"{issue.title}\n{issue.body}"
    data = content.encode("utf-8", "replace")
    return hashlib.sha256(data).hexdigest()


def _with_number(filing: Filing, issue: ForgeIssue) -> Filing:
    return replace(filing, number=issue.number, url=issue.url)


def _left_out(labels: tuple[str, ...], created: ForgeIssue) -> tuple[str, ...]:
    """Return the labels that were not set: a forge may ignore them if the token lacks
    the right.
    """
    folded = map(str.casefold, created.labels)
    given = set(folded)
    return tuple(label for label in labels if label.casefold() not in given)
