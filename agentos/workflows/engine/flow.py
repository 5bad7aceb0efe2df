"""The interface between the runner and the kinds of work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentos.gateway.providers import Completion, Message
from agentos.item import Outcome
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import Identity
from agentos.workflows.engine.stores import CheckpointStore

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
        messages: Sequence[Message],
        inputs: Mapping[str, str],
        schema: str,
    ) -> Awaitable[Completion]: ...


Observe = Callable[[str, str], None]
"""Called with an event and a text: `started` and `finished` with the name of a step, and
others with a message.
"""


class ItemInterrupted(Exception):
    """The item was asked to stop, and its state is saved."""


class Paused(Exception):
    """The item reached the step before which it has to pause; carries its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(slots=True)
class Session:
    """One assignment while it runs in this process."""

    assignment: Assignment
    root: Path
    """The repository, which the steps only read."""
    store: CheckpointStore
    ask: Ask
    observe: Observe
    is_stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set if the item has to stop after its current step."""
    is_waiting: bool = False
    """Whether the step waits for something that may be canceled at any moment, such as a
    test run.
    """


def build_marker(workflow: str, version: int, digest: str) -> str:
    """Return the line of a result that names the kind, its version and the input's
    hash.
    """
    return f"<!-- agentos: workflow={workflow}/{version} input=sha256:{digest} -->"


class Flow(Protocol):
    """A kind of work as the runner sees it; its state is a dictionary whose `decision` is
    empty until the item ends.
    """

    @property
    def workflow(self) -> Kind: ...

    @property
    def version(self) -> int:
        """Increased when checkpoints of the previous graph can no longer be resumed."""

    def build(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph."""

    def start(self, assignment: Assignment) -> Any:
        """Return the initial state of an item."""

    def most_steps(self, assignment: Assignment) -> int:
        """Return the maximum number of steps of an item."""

    def context(self, session: Session, identity: Identity) -> Any:
        """Return what the steps need from outside the state."""

    def find_loss(self, state: Any, context: Any) -> str:
        """Return what a stored state needs and is gone, empty if it can be resumed."""

    def resumes(self, state: Any, assignment: Assignment) -> bool:
        """Tell whether a stored state is what this run is to go on with; if not, the
        item begins anew with what is remembered of it.
        """

    def remember(self, state: Any, assignment: Assignment) -> None:
        """Keep on disk what a later run can go on from; a kill leaves the old or the
        new.
        """

    def pauses_before(self, assignment: Assignment) -> tuple[str, ...]:
        """Return the steps before which the item pauses."""

    def paused_outcome(self, state: Any) -> Outcome:
        """Return the outcome of a paused item."""

    def outcome(self, state: Any) -> Outcome:
        """Return how the item ended."""

    def artifacts(self, state: Any, context: Any) -> Artifacts:
        """Return the results to publish when the item ends."""
