"""Remember every answer by what was asked, so that no question is asked twice."""

from __future__ import annotations

import hashlib
from typing import Protocol

from agentos.providers import Completion, Request


def request_key(request: Request) -> str:
    """Name a request by its place in the work and by what is asked: the same question has the same key."""
    asked = hashlib.sha256(f"{request.model}\0{request.prompt}".encode("utf-8", "surrogatepass")).hexdigest()
    place = (request.repository, request.workflow, request.item, request.node, request.round, request.attempt)
    return "/".join(map(str, (*place, asked)))


class Journal(Protocol):
    """Where settled requests are kept."""

    def settled(self, key: str) -> Completion | None:
        """Return the answer to a request that was settled before."""

    def settle(self, key: str, completion: Completion) -> None:
        """Keep the answer."""

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended."""


class MemoryJournal:
    """Keep answers for as long as the run lasts: a worker that dies with its item is not paid for twice."""

    def __init__(self) -> None:
        self._answers: dict[str, Completion] = {}

    def settled(self, key: str) -> Completion | None:
        """Return the answer to a request that was settled before."""
        return self._answers.get(key)

    def settle(self, key: str, completion: Completion) -> None:
        """Keep the answer."""
        self._answers[key] = completion

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended, so that memory does not grow with the run."""
        prefix = f"{repository}/{workflow}/{item}/"
        for key in [key for key in self._answers if key.startswith(prefix)]:
            del self._answers[key]
