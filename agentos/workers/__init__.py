"""Where a workflow runs: one Protocol; here, a process of its own on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agentos.artefacts import Publication
from agentos.task import Outcome, Task
from agentos.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Assignment:
    """All that a worker needs to know to run one item: plain data."""

    task: Task
    text: str
    digest: str
    repository: str
    checkpoint: str
    publication: Publication
    drafter: str
    reviewer: str
    max_rounds: int
    workshop: Workshop | None = None
    """What it needs if it builds something."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker ended: with an outcome, or without one and why."""

    outcome: Outcome | None
    reason: str = ""
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    has_timed_out: bool = False
    was_stopped: bool = False
    """Whether it was asked to leave because the run ends."""
    is_server_lost: bool = False
    """Whether it was lost with the fork server, which is no fault of the item."""


Event = Mapping[str, Any]
DECIDED = "decided"
"""The event after which a worker has only to write down its results."""


class Output(Protocol):
    """Two descriptors that a worker's output goes to."""

    @property
    def stdout(self) -> int: ...

    @property
    def stderr(self) -> int: ...

    def close_write_ends(self) -> None:
        """Close this process's copies, once the worker has its own."""


class Workers(Protocol):
    """A place that runs assignments, each apart from the others."""

    def run(
        self,
        assignment: Assignment,
        lock: int,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        timeout: float | None,
    ) -> Exit:
        """Run one assignment to its end and report what happened on the way."""

    @property
    def is_abandoned(self) -> bool:
        """Whether the run has been given up, so that nobody reads results any more."""

    def stop(self) -> None:
        """Ask every worker to checkpoint and leave; whoever is still there after the grace is killed."""

    def kill(self) -> None:
        """End every worker at once."""
