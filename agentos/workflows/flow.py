"""What the runner has to know of a workflow: one Protocol, one module for each family of workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentos.artefacts import Artefacts, Publication
from agentos.checkpoints import Identity
from agentos.providers import Completion
from agentos.task import Outcome, Task, Workflow
from agentos.workflows.saver import InlineSaver
from agentos.workshop import Workshop

if TYPE_CHECKING:
    from langgraph.graph import StateGraph


class Ask(Protocol):
    """Ask a model for a completion."""

    def __call__(
        self,
        *,
        role: str,
        node: str,
        round: int,
        attempt: int,
        prompt: str,
        inputs: Mapping[str, str],
        schema: str,
    ) -> Awaitable[Completion]: ...


Observe = Callable[[str, str], None]
"""Told what happened and a name or a text: `started` and `finished` with the name of a step, and more."""


class Drained(Exception):
    """The item was asked to stop and has saved its state."""


class Paused(Exception):
    """The item has come as far as it was to come this time; what it says is how it stands."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(slots=True)
class Job:
    """One item to be run here."""

    task: Task
    text: str
    digest: str
    checkpoint: Path
    publication: Publication
    max_rounds: int
    workshop: Workshop | None = None
    is_draining: asyncio.Event = field(default_factory=asyncio.Event)
    is_waiting: bool = False
    """Whether it waits for something that may be given up at any moment, such as a run of tests."""
    make_saver: type[InlineSaver] = InlineSaver


def stamp_of(workflow: str, version: int, digest: str) -> str:
    """Return the line by which a result tells which input it is of."""
    return f"<!-- agentos: workflow={workflow}/{version} input=sha256:{digest} -->"


class Flow(Protocol):
    """A workflow as the runner sees it; its state is a dictionary with `decision`, empty until it has ended."""

    @property
    def workflow(self) -> Workflow: ...

    @property
    def version(self) -> int:
        """Raised when a checkpoint of the former graph can no longer be resumed."""

    def build(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the graph, not yet compiled."""

    def start(self, job: Job) -> Any:
        """Return the state that an item starts with."""

    def most_steps(self, job: Job) -> int:
        """Return how many steps an item can take at the most."""

    def context(self, job: Job, identity: Identity, ask: Ask, observe: Observe) -> Any:
        """Return what the steps need from outside the state."""

    def halts_before(self, job: Job) -> tuple[str, ...]:
        """Return the steps that are left for another time."""

    def standing(self, state: Any) -> Outcome:
        """Say how an item stands that has halted before a step."""

    def outcome(self, state: Any) -> Outcome:
        """Say how the item ended."""

    def artefacts(self, state: Any) -> Artefacts:
        """Return the files that the item's end makes visible."""
