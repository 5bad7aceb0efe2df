"""Convert assignments and results to and from messages."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from agentos.errors import BadInput
from agentos.item import Outcome
from agentos.plain_data import from_data, to_data
from agentos.repository.publish import Amendment, Artifacts
from agentos.workers.process.channel import Message
from agentos.workflows.engine.assignment import Assignment


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says at its end."""

    outcome: Outcome
    artifacts: Artifacts | None
    cpu_seconds: float
    peak_memory: int


def assignment_to_json(assignment: Assignment) -> Message:
    """Return the assignment as JSON data."""
    return to_data(assignment)


def assignment_from_json(data: Message) -> Assignment:
    """Read an assignment that the coordinator sent."""
    return from_data(Assignment, data)


def artifacts_to_message(artifacts: Artifacts | None) -> Message:
    """Return the part of a message that carries the results of an item."""
    if artifacts is None:
        return {}
    texts: Any = {
        "files": artifacts.files,
        "document": artifacts.document,
        "commit": artifacts.commit,
    }
    if artifacts.amendment is not None:
        texts["amendment"] = asdict(artifacts.amendment)
    return {"artifacts": texts, "blobs": [artifacts.bundle]}


def read_report(message: Message) -> Report:
    """Read a worker's last message, or raise `BadInput`: a worker runs near generated
    code, and may be of another version.
    """
    try:
        return Report(
            Outcome.from_json(message["outcome"]),
            _read_artifacts(message),
            float(message.get("cpu_seconds", 0)),
            int(message.get("peak_memory", 0)),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(
            "the worker's report cannot be read"
            f" ({type(error).__name__}: {error}); run again"
        ) from error


def _read_artifacts(message: Message) -> Artifacts | None:
    """Read the results of an item, if the message has any."""
    texts = message.get("artifacts")
    if texts is None:
        return None
    files = []
    for folder in texts["files"]:
        named = {}
        for name, text in folder.items():
            named[name] = _read_text(text)
        files.append(named)
    return Artifacts(
        files,
        _read_text(texts["document"]),
        _read_text(texts["commit"]),
        message["blobs"][0],
        _read_amendment(texts.get("amendment")),
    )


def _read_amendment(data: Any) -> Amendment | None:
    if data is None:
        return None
    files = {}
    for name, text in data["files"].items():
        files[name] = _read_text(text)
    return Amendment(files, _read_text(data["document"]), _read_text(data["ledger"]))


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value
