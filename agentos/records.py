"""What became of each item, one small file each, so that a rerun knows what is left to do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import read_regular, write_atomically
from agentos.redaction import redact
from agentos.task import Failure, Outcome, State, Task
from agentos.wording import utc_now

SCHEMA = 1
RECORD_LIMIT = 1_000_000

_UNCHANGED = frozenset({"item", "artefact", "superseded", "questions"})
"""Fields that name what exists: changed, they would name nothing, and the item would be done again for ever. And the
questions, which become part of a document when they are answered."""


@dataclass(frozen=True, slots=True)
class Record:
    """The last known end of an item."""

    workflow: str
    item: str
    digest: str
    """SHA-256 of the input that this end belongs to."""
    state: State
    failure: Failure | None
    message: str
    rounds: int
    attempts: int
    seconds: float
    run: str
    updated: str
    artefact: str = ""
    """Repository path of the document, when one was filed."""
    superseded: str = ""
    """Name under which what stood there before is kept."""
    findings: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    source: str = ""
    """Where the item was taken from; empty when that was not kept."""
    schema: int = SCHEMA

    @classmethod
    def of(
        cls,
        task: Task,
        outcome: Outcome,
        *,
        digest: str,
        run: str,
        attempts: int,
        seconds: float,
        artefact: str = "",
        superseded: str = "",
    ) -> Record:
        """Return the record of an item that has just ended."""
        return cls(
            workflow=task.workflow,
            item=task.item,
            digest=digest,
            state=outcome.state,
            failure=outcome.failure,
            message=outcome.message,
            rounds=outcome.rounds,
            attempts=attempts,
            seconds=round(seconds, 3),
            run=run,
            updated=utc_now(),
            artefact=artefact,
            superseded=superseded,
            findings=outcome.findings,
            questions=outcome.questions,
            source=task.source,
        )

    @property
    def outcome(self) -> Outcome:
        """How the item ended."""
        return Outcome(
            self.state,
            self.message,
            self.failure,
            self.rounds,
            findings=self.findings,
            questions=self.questions,
        )


def read_record(path: Path) -> Record | None:
    """Return the record, or None when there is none that can be understood."""
    try:
        data = json.loads(read_regular(path, RECORD_LIMIT))
        data["state"] = State(data["state"])
        data["failure"] = Failure(data["failure"]) if data["failure"] else None
        for name in ("findings", "questions"):
            data[name] = tuple(map(str, data.get(name, ())))
        data["source"] = str(data.get("source", ""))
        return Record(**data)
    except (BadInput, ValueError, TypeError, KeyError):
        return None


def write_record(path: Path, record: Record, temporary: Path) -> None:
    """Replace the record whole."""
    data = {name: value if name in _UNCHANGED else _redact(value) for name, value in asdict(record).items()}
    write_atomically(path, json.dumps(data, indent=1).encode(), temporary=temporary)


def _redact(value: object) -> object:
    if isinstance(value, tuple):
        return [redact(str(entry)) for entry in value]
    return redact(value) if isinstance(value, str) else value
