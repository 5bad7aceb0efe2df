"""Any inbox with what people answered to the questions of reviewers."""

from __future__ import annotations

import hashlib
from pathlib import Path

from agentos.documents.answers import parse_answers, with_answers
from agentos.errors import BadInput
from agentos.files import is_inside, list_names, read_regular
from agentos.inbox import Collected, Inbox, Source
from agentos.places import answers_path
from agentos.task import Task, Workflow

ANSWERS_LIMIT = 1_000_000


class AnsweredInbox:
    """Add its answers to an item's input, so that an item which was answered counts as edited."""

    def __init__(self, inbox: Inbox, repository: Path, workflow: Workflow) -> None:
        self._inbox = inbox
        self._repository = repository
        self._names = list_names((repository / answers_path(workflow, "0")).parent)

    def collect(self) -> Collected:
        """List the items."""
        return self._inbox.collect()

    def load(self, task: Task) -> Source:
        """Return the item's input with the answers at its end."""
        source = self._inbox.load(task)
        try:
            answers = self._read(task)
            if not answers or source.problem:
                return source
            text = with_answers(source.text, parse_answers(answers.decode("utf-8", "replace")))
            return Source(text, _combine(source.digest, answers))
        except BadInput as error:
            return Source("", source.digest, str(error))

    def digest(self, task: Task) -> str:
        """Return the hash of the item's input and answers."""
        digest = self._inbox.digest(task)
        try:
            return _combine(digest, self._read(task))
        except BadInput:
            return ""

    def _read(self, task: Task) -> bytes:
        path = self._repository / answers_path(task.workflow, task.item)
        if path.name not in self._names:
            return b""
        if not is_inside(path, self._repository):
            raise BadInput(f"{answers_path(task.workflow, task.item)}: leads outside the repository; remove the link")
        return read_regular(path, ANSWERS_LIMIT)


def _combine(digest: str, answers: bytes) -> str:
    if not digest or not answers:
        return digest
    return hashlib.sha256(digest.encode() + answers).hexdigest()
