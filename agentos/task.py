"""One item of work and how it ended: plain data that can cross a process border."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Workflow(StrEnum):
    """The kinds of work there are."""

    ISSUE = "issue"
    LLD = "lld"
    IMPLEMENTATION = "implementation"

    @property
    def prefix(self) -> str:
        """What its items are marked with: `LLD`."""
        return "IMPL" if self is Workflow.IMPLEMENTATION else self.upper()


DRAFTING = (Workflow.ISSUE, Workflow.LLD)
"""Workflows that write a document, and have it reviewed."""


class State(StrEnum):
    """The one state in which an item ends."""

    APPROVED = "approved"
    NEEDS_REVISION = "needs-revision"
    NEEDS_DISCUSSION = "needs-discussion"
    IMPLEMENTED = "implemented"
    SCAFFOLDED = "scaffolded"
    """Its tests are written and proven red, and that was all that was asked for."""
    INTERRUPTED = "interrupted"
    FAILED = "failed"


ENDED = frozenset({State.APPROVED, State.NEEDS_REVISION, State.NEEDS_DISCUSSION, State.IMPLEMENTED})
"""States that a rerun leaves alone until the input changes."""


class Failure(StrEnum):
    """Why an item failed, as a class that a script can act on."""

    BAD_INPUT = "bad-input"
    MODEL_FORMAT = "model-format"
    REVIEW_STALL = "review-stall"
    RED_INVALID = "red-invalid"
    NOT_GREEN = "not-green"
    CONFLICT = "conflict"
    BUDGET = "budget"
    AUTH = "auth"
    PROVIDER = "provider"
    INFRA = "infra"
    SECRET = "secret"
    """An answer held a key."""


_WITH_PAPERS = frozenset({Failure.REVIEW_STALL, Failure.RED_INVALID, Failure.NOT_GREEN})
"""Failures in which a loop came to its end: what it found out is told in papers."""


@dataclass(frozen=True, slots=True)
class Task:
    """An item that waits in an inbox: its workflow, its id and where its text is."""

    workflow: Workflow
    item: str
    source: str
    """Path of the input, relative to the repository when it lies inside."""

    @property
    def label(self) -> str:
        """The name that marks every line of this item: `LLD-42`."""
        return f"{self.workflow.prefix}-{self.item}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one item ended."""

    state: State
    message: str = ""
    failure: Failure | None = None
    rounds: int = 0
    calls: int = 0
    findings: tuple[str, ...] = ()
    """What was found and is still open, one line each, also in an approved document."""
    questions: tuple[str, ...] = ()
    """What only a person can answer."""

    @property
    def is_decided(self) -> bool:
        """Whether the loop came to its end, so that there are papers to show."""
        return self.state in ENDED or self.failure in _WITH_PAPERS

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcome:
        """Read what `to_json` wrote."""
        return cls(
            state=State(data["state"]),
            message=str(data.get("message", "")),
            failure=Failure(data["failure"]) if data.get("failure") else None,
            rounds=int(data.get("rounds", 0)),
            calls=int(data.get("calls", 0)),
            findings=tuple(map(str, data.get("findings", ()))),
            questions=tuple(map(str, data.get("questions", ()))),
        )


def failed(failure: Failure | str, message: str, *, rounds: int = 0, calls: int = 0) -> Outcome:
    """Return a failed outcome of the given class."""
    return Outcome(State.FAILED, message, Failure(failure), rounds, calls)
