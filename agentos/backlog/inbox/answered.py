"""An inbox whose items include the answers to reviewers' questions."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from agentos.backlog.inbox import Collected, Inbox, Source
from agentos.documents.answers import parse_answers, with_answers
from agentos.errors import BadInput
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.answers import ANSWERS_LIMIT
from agentos.repository.paths import answers_path
from agentos.state.files import is_inside, list_names, read_regular


class AnsweredInbox:
    """Append answers to the input of items, so that an answered item counts as
    edited.
    """

    def __init__(self, inbox: Inbox, repository: Path, workflow: Kind) -> None:
        self._inbox = inbox
        self._repository = repository
        self._names = list_names((repository / answers_path(workflow, "0")).parent)

    def collect(self) -> Collected:
        """List the items."""
        return self._inbox.collect()

    def load(self, item: Item) -> Source:
        """Return the item's input with the answers at its end."""
        source = self._inbox.load(item)
        try:
            answers = self._read(item)
            if not answers or source.problem:
                return source
            text = with_answers(
                source.text, parse_answers(answers.decode("utf-8", "replace"))
            )
            digest = _combine(source.digest, answers)
            return replace(source, text=text, digest=digest)
        except BadInput as error:
            return Source("", source.digest, str(error))

    def digest(self, item: Item) -> str:
        """Return the hash of the item's input and answers."""
        digest = self._inbox.digest(item)
        try:
            return _combine(digest, self._read(item))
        except BadInput:
            return ""

    def _read(self, item: Item) -> bytes:
        path = self._repository / answers_path(item.kind, item.id)
        if path.name not in self._names:
            return b""
        if not is_inside(path, self._repository):
            raise BadInput(
                f"{answers_path(item.kind, item.id)}: leads outside the"
                " repository; remove the link"
            )
        return read_regular(path, ANSWERS_LIMIT)


def _combine(digest: str, answers: bytes) -> str:
    if not digest or not answers:
        return digest
    return hashlib.sha256(digest.encode() + answers).hexdigest()
