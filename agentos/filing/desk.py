"""Take approved items and have them filed, one at a time whoever asks; an item that cannot be filed stays approved."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Protocol

from agentos.documents.issue_filing import Filable, split_issue
from agentos.errors import AgentOSError, BadInput
from agentos.filing.place import Place
from agentos.filing.record import Filing
from agentos.filing.sending import Sender, hash_of
from agentos.github import SCHEME, GitHubError
from agentos.places import document_path
from agentos.redaction import find_line_to_hide
from agentos.report.entries import COMPLETE, Entry, Filed
from agentos.task import Outcome, State, Task

NOTICE = 0.1
"""Seconds after which Ctrl+C is noticed while an answer is waited for."""
INVALID = 422
"""The status that speaks of one issue; any other refusal will be that of the next one too."""


class Tell(Protocol):
    """Say something about an item."""

    def __call__(self, label: str, text: str, /, *, important: bool = False) -> None: ...


class Desk:
    """Where the items of a run are handed in."""

    def __init__(self, sender: Sender, place: Place, tell: Tell) -> None:
        self._sender = sender
        self._place = place
        self._tell = tell
        self._lock = threading.Lock()
        self._given_up = ""

    def file(self, entry: Entry, stopping: threading.Event) -> Entry:
        """Return the entry with where its item was filed, or why not; whoever calls holds the item's lock."""
        ended = self._recall(entry) if entry.status == COMPLETE else entry
        if ended.status != State.APPROVED:
            return entry
        task, done = entry.task, Future[Filed]()
        self._sender.client.pause = stopping.wait
        # Apart, so that Ctrl+C need not wait for an answer; what is under way then is found by its marker later.
        threading.Thread(target=self._work, args=(task, stopping, done), name=f"file-{task.label}", daemon=True).start()
        while not wait([done], NOTICE).done and not stopping.is_set():
            pass
        filed = done.result() if done.done() else Filed(problem="stopped; the next run finds out whether it arrived")
        if filed.problem:
            self._tell(task.label, f"NOT FILED: {filed.problem}", important=True)
        elif filed.remark:
            self._tell(task.label, f"already filed as {filed.reference}; {filed.remark}: {filed.url}", important=True)
        else:
            self._tell(task.label, f"filed as {filed.reference}: {filed.url}")
        return replace(ended, filed=filed)

    def _recall(self, entry: Entry) -> Entry:
        """Return the entry of an item that ended before as if it had ended now."""
        record = self._place.record(entry.task)
        outcome = record.outcome if record is not None else Outcome(State.APPROVED)
        return Entry(
            entry.task,
            outcome.state,
            replace(outcome, message=""),
            artefact=document_path(entry.task.workflow, entry.task.item),
        )

    def _work(self, task: Task, stopping: threading.Event, done: Future[Filed]) -> None:
        with self._lock:
            if stopping.is_set():
                done.set_result(Filed(problem="stopped"))
            else:
                done.set_result(self._file(task))

    def _file(self, task: Task) -> Filed:
        if self._given_up:
            return Filed(problem=self._given_up)
        try:
            issue = self._describe(task)
            filing, left_out = self._sender.send(issue, self._place.filing(task))
            if left_out:
                self._tell(task.label, f"Warning: left out by GitHub: label {', '.join(left_out)}", important=True)
            self._note(task, filing.reference)
            return Filed(filing.reference, filing.url, remark=_compare(filing, issue))
        except GitHubError as error:
            if error.status != INVALID:
                self._given_up = str(error)
            return Filed(problem=str(error))
        except AgentOSError as error:
            return Filed(problem=str(error))
        except OSError as error:
            return Filed(problem=f"{error.strerror or error}: {error.filename or 'no file named'}")
        except Exception as error:
            # Our own code failed on it, and the item is approved all the same.
            return Filed(problem=f"internal error: {type(error).__name__}: {error}")

    def _note(self, task: Task, reference: str) -> None:
        try:
            self._place.note_filing(task, reference)
        except (OSError, BadInput) as error:
            self._tell(task.label, f"Warning: filed, but that cannot be noted in its document: {error}", important=True)

    def _describe(self, task: Task) -> Filable:
        text = self._place.read_document(task)
        issue = split_issue(text)
        if find_line_to_hide(f"{issue.title}\n{issue.body}"):
            where = f"{document_path(task.workflow, task.item)}, line {find_line_to_hide(text)}"
            raise BadInput(f"{where}: holds a key, or what looks like one; take it out, and run again with --file")
        origin = f"Brief: {task.source.removeprefix(f'{SCHEME}:')}\n\n" if task.source.startswith(f"{SCHEME}:") else ""
        return Filable(issue.title, origin + issue.body)


def _compare(filing: Filing, issue: Filable) -> str:
    """Say when the text over there is not the present one; empty when it is."""
    if not filing.content:
        return "the text there may be an earlier one"
    return "" if filing.content == hash_of(issue) else "the text there is the earlier one"
