"""Run items in isolation: the `Workers` protocol, and one process for each item.

The protocol lives here; `process` implements it with processes that are forked on this
machine. Only `run` and `cli` import this package. Begin with `Workers` below, then
`process/launcher.py` for the coordinator's side and `process/body.py` for the worker's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agentos.item import Outcome
from agentos.repository.publish import Artifacts
from agentos.workflows.engine.assignment import Assignment


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker ended: its outcome, or the reason why there is none."""

    outcome: Outcome | None
    reason: str = ""
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    has_timed_out: bool = False
    was_stopped: bool = False
    """Whether it was asked to stop because the run ends."""
    is_server_lost: bool = False
    """Whether the fork server died, which is not the item's fault."""
    artifacts: Artifacts | None = None
    """The files to publish, of an item that was completed."""


Event = Mapping[str, Any]
BEGUN_ANEW = "begun-anew"
"""The event of an item that is not resumed, although it could be: its earlier answers
are to be forgotten.
"""
DECIDED = "decided"
"""The event after which a worker only has to send its results."""


class Output(Protocol):
    """Takes what one worker prints; may be called from any thread."""

    @property
    def is_congested(self) -> bool:
        """Whether to feed nothing more for a moment, if the worker can wait."""

    def feed(self, chunk: bytes, *, is_error: bool) -> None:
        """Take bytes of stdout or stderr, cut anywhere."""


class Workers(Protocol):
    """Runs assignments isolated from each other, on this machine or on others.

    Only data crosses it: an assignment goes down; events and output come up, and results
    as an outcome with artifacts. How the worker reads the repository, where its
    checkpoint is kept and what guards the item while it runs are matters of each
    implementation.

    Methods may be called from any thread, `hurry` and `kill` also from a signal handler.
    """

    @property
    def is_abandoned(self) -> bool:
        """Whether the run was abandoned, so that no results are read anymore."""

    def start(self) -> None:
        """Start to prepare workers in the background."""

    def wait_ready(self, is_wanted: Callable[[], bool]) -> float:
        """Wait for the first workers while they are wanted; return the seconds."""

    def run(
        self,
        assignment: Assignment,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        timeout: float | None,
    ) -> Exit:
        """Run one assignment to its end and report its events.

        All output was fed when this returns. If the coordinator is killed, no other run
        of the item can meet its worker: the item stays locked until the worker has
        exited, or the worker can no longer store anything.
        """

    def stop(self) -> None:
        """Ask every worker to save its state and exit; kill it after a grace period."""

    def hurry(self) -> None:
        """Skip all waiting when closing."""

    def kill(self) -> None:
        """Kill every worker at once."""

    def suspend(self) -> None:
        """Freeze every worker, as when the coordinator is stopped with Ctrl+Z."""

    def resume(self) -> None:
        """Continue frozen workers without counting the pause against their timeout."""

    def close(self) -> None:
        """Stop everything that was started."""
