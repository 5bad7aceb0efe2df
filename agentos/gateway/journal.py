"""Remember every answer by what was asked, so that no question is asked twice."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from agentos.providers import Completion, Request


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The name of a request: the item it belongs to, and its place in the work with a hash of what is asked."""

    item: str
    question: str


def item_key(repository: str, workflow: str, item: str) -> str:
    """Name an item across repositories."""
    return f"{repository}/{workflow}/{item}"


def request_key(request: Request) -> RequestKey:
    """Name a request: the same question at the same place has the same key."""
    asked = hashlib.sha256(f"{request.model}\0{request.prompt}".encode("utf-8", "surrogatepass")).hexdigest()
    question = f"{request.node}/{request.round}/{request.attempt}/{asked}"
    return RequestKey(item_key(request.repository, request.workflow, request.item), question)


class Journal(Protocol):
    """Where settled requests are kept."""

    def settled(self, key: RequestKey) -> Completion | None:
        """Return the answer to a request that was settled before."""

    def settle(self, key: RequestKey, completion: Completion) -> None:
        """Keep the answer."""

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended."""


class MemoryJournal:
    """Keep answers for as long as their item runs: a worker that dies with its item is not paid for twice."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[str, Completion]] = {}

    def settled(self, key: RequestKey) -> Completion | None:
        """Return the answer to a request that was settled before."""
        return self._answers.get(key.item, {}).get(key.question)

    def settle(self, key: RequestKey, completion: Completion) -> None:
        """Keep the answer."""
        self._answers.setdefault(key.item, {})[key.question] = completion

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item, so that memory does not grow with the run."""
        self._answers.pop(item_key(repository, workflow, item), None)
