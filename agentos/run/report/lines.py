"""The lines on the console that report the events and the result of an item."""

from __future__ import annotations

from agentos.documents.provenance import APPROVED_STATUS, RECORDED_STATUS
from agentos.item import Outcome, State
from agentos.state.wording import count
from agentos.workers import Event


def describe_result(
    outcome: Outcome, document: str, took: str, *, is_recorded: bool
) -> str:
    """Return the line that reports the result of an item."""
    state = outcome.state.upper()
    message = outcome.message
    failure = outcome.failure
    match outcome.state:
        case State.FAILED:
            return f"FAILED: {message} ({failure})"
        case State.INTERRUPTED:
            return "stopped, its checkpoint is kept"
        case State.APPROVED:
            status = APPROVED_STATUS
            if is_recorded:
                status = RECORDED_STATUS
            rounds = outcome.rounds
            return f"{status} in round {rounds}, {took}: {document}"
        case State.SKELETON | State.SIMULATED:
            return f"{state}, {took}: {document} ({message})"
        case State.IMPLEMENTED | State.SCAFFOLDED:
            return f"{state}, {took}: {message}"
    if outcome.rounds:
        rounds_taken = count(outcome.rounds, "round")
        state += f" after {rounds_taken}"
    return f"{state}, {took}: {message}"


def describe_event(event: Event) -> str:
    """Return the line that reports an event."""
    parts = []
    for name, value in event.items():
        if name in ("traceback", "time"):
            continue
        parts.append(f"{name} {value}")
    return ", ".join(parts)
