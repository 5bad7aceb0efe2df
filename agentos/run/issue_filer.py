"""File approved items in an issue tracker, one at a time; an item that cannot be filed
stays approved.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Protocol

from agentos.documents.issue_filing import TrackerIssue, split_issue
from agentos.errors import AgentOSError, BadInput, UsageError
from agentos.item import Item, Outcome, State
from agentos.repository.forge import (
    Announce,
    ForgeError,
    ForgeRepository,
    Invalid,
    is_source,
    open_forge,
)
from agentos.repository.forge.filing.paths import FilingPaths
from agentos.repository.forge.filing.record import Filing
from agentos.repository.forge.filing.sending import Sender, hash_of
from agentos.repository.paths import document_path
from agentos.run.report.rows import COMPLETE, Filed, ResultRow
from agentos.state.redaction import find_line_to_hide

POLL_INTERVAL = 0.1
"""Seconds between two checks for Ctrl+C while waiting for the forge."""


class Tell(Protocol):
    """Print a line about an item."""

    def __call__(
        self, label: str, text: str, /, *, important: bool = False
    ) -> None: ...


class IssueFiler:
    """Files the items of a run."""

    def __init__(self, sender: Sender, paths: FilingPaths, tell: Tell) -> None:
        self._sender = sender
        self._paths = paths
        self._tell = tell
        self._lock = threading.Lock()
        self._fatal_problem = ""
        """An error that keeps all items from being filed."""

    def file(self, row: ResultRow, stopping: threading.Event) -> ResultRow:
        """File an approved item and return its row with the result; the caller has
        locked the item.
        """
        ended = row
        if row.status == COMPLETE:
            ended = self._recall(row)
        if ended.status != State.APPROVED:
            return row
        item = row.item
        done = Future[Filed]()
        self._sender.forge.pause = stopping.wait
        # In a thread of its own, so that Ctrl+C need not wait for the forge. The next run
        # finds an issue that was being created by its marker.
        threading.Thread(
            target=self._work,
            args=(item, stopping, done),
            name=f"file-{item.label}",
            daemon=True,
        ).start()
        while not wait([done], POLL_INTERVAL).done and not stopping.is_set():
            pass
        if done.done():
            filed = done.result()
        else:
            filed = Filed(problem="stopped; the next run finds out whether it arrived")
        self._report(item, filed)
        return replace(ended, filed=filed)

    def _report(self, item: Item, filed: Filed) -> None:
        message = f"filed as {filed.reference}: {filed.url}"
        if filed.problem:
            message = f"NOT FILED: {filed.problem}"
        elif filed.remark:
            message = f"already filed as {filed.reference}; {filed.remark}: {filed.url}"
        is_important = bool(filed.problem or filed.remark)
        self._tell(item.label, message, important=is_important)

    def _recall(self, row: ResultRow) -> ResultRow:
        """Return the row of an item that ended in an earlier run."""
        item = row.item
        record = self._paths.record(item)
        outcome = Outcome(State.APPROVED)
        if record is not None:
            outcome = replace(record.outcome, message="")
        path = document_path(item.kind, item.id)
        return ResultRow(item, outcome.state, outcome, artefact=path)

    def _work(self, item: Item, stopping: threading.Event, done: Future[Filed]) -> None:
        with self._lock:
            if stopping.is_set():
                done.set_result(Filed(problem="stopped"))
            else:
                done.set_result(self._file(item))

    def _file(self, item: Item) -> Filed:
        if self._fatal_problem:
            return Filed(problem=self._fatal_problem)
        try:
            return self._send(item)
        except ForgeError as error:
            problem = str(error)
            # Any other error would hit the next item too.
            if not isinstance(error, Invalid):
                self._fatal_problem = problem
        except AgentOSError as error:
            problem = str(error)
        except OSError as error:
            name = error.filename or "no file named"
            problem = f"{error.strerror or error}: {name}"
        except Exception as error:
            # A bug in AgentOS must not undo the approval.
            problem = f"internal error: {type(error).__name__}: {error}"
        return Filed(problem=problem)

    def _send(self, item: Item) -> Filed:
        issue = self._read_issue(item)
        filing, rejected = self._sender.send(issue, self._paths.filing(item))
        if rejected:
            labels = ", ".join(rejected)
            self._warn(item, f"left out by {self._sender.forge.label}: label {labels}")
        try:
            self._paths.note_filing(item, filing.reference)
        except (OSError, BadInput) as error:
            self._warn(item, f"filed, but cannot note that in its document: {error}")
        remark = _compare(filing, issue)
        return Filed(filing.reference, filing.url, remark=remark)

    def _warn(self, item: Item, message: str) -> None:
        self._tell(item.label, f"Warning: {message}", important=True)

    def _read_issue(self, item: Item) -> TrackerIssue:
        text = self._paths.read_document(item)
        issue = split_issue(text)
        if find_line_to_hide(f"{issue.title}\n{issue.body}"):
            path = document_path(item.kind, item.id)
            line = find_line_to_hide(text)
            raise BadInput(
                f"{path}, line {line}: holds a key, or what looks like one; take it"
                " out, and run again with --file"
            )
        if not is_source(item.source):
            return issue
        origin = item.source.partition(":")[2]
        return TrackerIssue(issue.title, f"Brief: {origin}\n\n{issue.body}")


def _compare(filing: Filing, issue: TrackerIssue) -> str:
    """Return a remark if the issue in the tracker has another text."""
    if not filing.content:
        return "the text there may be an earlier one"
    if filing.content != hash_of(issue):
        return "the text there is the earlier one"
    return ""


def open_issue_filer(
    target: ForgeRepository,
    labels: tuple[str, ...],
    paths: FilingPaths,
    environ: Mapping[str, str],
    announce: Announce,
    tell: Tell,
) -> IssueFiler:
    """Return the filer for a repository; raise `UsageError` if it takes no issues."""
    forge = open_forge(target, environ, announce)
    if forge.token_advice:
        raise UsageError(f"--file: needs a token; {forge.token_advice}")
    facts = forge.describe()
    if facts.is_archived:
        raise UsageError(f"--file: {forge.repository} is archived and takes no issues")
    if not facts.has_issues:
        raise UsageError(f"--file: {forge.repository} has its issues switched off")
    return IssueFiler(Sender(forge, labels), paths, tell)
