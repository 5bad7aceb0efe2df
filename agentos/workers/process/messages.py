"""Convert assignments and results to and from messages."""

from __future__ import annotations

from typing import Any

from agentos.plain_data import from_data, to_data
from agentos.repository.publish import Artifacts
from agentos.workers.process.channel import Message
from agentos.workflows.engine.assignment import Assignment


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
    return {"artifacts": texts, "blobs": [artifacts.bundle]}


def artifacts_from_message(message: Message) -> Artifacts | None:
    """Read the results of an item, if the message has any."""
    texts = message.get("artifacts")
    if texts is None:
        return None
    return Artifacts(
        texts["files"], texts["document"], texts["commit"], message["blobs"][0]
    )
