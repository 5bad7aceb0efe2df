"""An item and its outcome: plain data that can cross processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from agentos.kinds import Kind


class State(StrEnum):
    """The state in which an item ends a run."""

    APPROVED = "approved"
    NEEDS_REVISION = "needs-revision"
    NEEDS_DISCUSSION = "needs-discussion"
    IMPLEMENTED = "implemented"
    SCAFFOLDED = "scaffolded"
    """Only the tests were asked for; they are written and proven red."""
    SKELETON = "skeleton"
    """Rules filled the template; no model was asked."""
    SIMULATED = "simulated"
    """A simulated reviewer approved the draft."""
    INTERRUPTED = "interrupted"
    REVISED = "revised"
    """The design that was to be built is revised and approved; the item begins again."""
    FAILED = "failed"


ENDED = frozenset(
    {
        State.APPROVED,
        State.NEEDS_REVISION,
        State.NEEDS_DISCUSSION,
        State.IMPLEMENTED,
        State.SKELETON,
    }
)
"""States that a rerun skips until the input changes; a skeleton only until a model is
named.
"""


class Failure(StrEnum):
    """The class of a failure, for scripts."""

    BAD_INPUT = "bad-input"
    MODEL_FORMAT = "model-format"
    REVIEW_STALL = "review-stall"
    RED_INVALID = "red-invalid"
    NOT_GREEN = "not-green"
    BLOCKED = "blocked"
    """A model says why it cannot go on."""
    CONFLICT = "conflict"
    BUDGET = "budget"
    AUTH = "auth"
    PROVIDER = "provider"
    INFRA = "infra"
    SECRET = "secret"
    """An answer contained a key."""


_WITH_LINEAGE = frozenset(
    {Failure.REVIEW_STALL, Failure.RED_INVALID, Failure.NOT_GREEN, Failure.BLOCKED}
)
"""Failures after a complete loop, whose lineage files are published."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item to run: its kind, its id and the path of its input."""

    kind: Kind
    id: str
    source: str
    """Path of the input, relative to the repository if it is inside."""

    @property
    def label(self) -> str:
        """The prefix of every output line of this item: `LLD-42`."""
        return f"{self.kind.record.label}-{self.id}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one item ended."""

    state: State
    message: str = ""
    failure: Failure | None = None
    rounds: int = 0
    calls: int = 0
    findings: tuple[str, ...] = ()
    """Open findings, one line each; an approved document can have some too."""
    questions: tuple[str, ...] = ()
    """Questions for a person."""

    @property
    def is_decided(self) -> bool:
        """Whether the loop completed, so that there are lineage files to publish."""
        if self.state in ENDED or self.state in (State.SIMULATED, State.REVISED):
            return True
        return self.failure in _WITH_LINEAGE

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcome:
        """Read an outcome from JSON data."""
        failure = data.get("failure")
        return cls(
            state=State(data["state"]),
            message=str(data.get("message", "")),
            failure=Failure(failure) if failure else None,
            rounds=int(data.get("rounds", 0)),
            calls=int(data.get("calls", 0)),
            findings=tuple(map(str, data.get("findings", ()))),
            questions=tuple(map(str, data.get("questions", ()))),
        )


def failed(
    failure: Failure | str, message: str, *, rounds: int = 0, calls: int = 0
) -> Outcome:
    """Return a failed outcome of the given class."""
    return Outcome(State.FAILED, message, Failure(failure), rounds, calls)
