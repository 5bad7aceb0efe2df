"""Record how each item ended, in one small file each, so that a rerun knows what is
left to do.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.item import Failure, Item, Outcome, State
from agentos.state.files import FilePath, read_regular, write_atomically
from agentos.state.redaction import redact
from agentos.state.wording import utc_now

SCHEMA = 1
RECORD_LIMIT = 1_000_000

_UNCHANGED = frozenset({"item", "artefact", "superseded", "questions"})
"""Fields that are never redacted. Names of existing files must stay, or the item would
be done again forever; questions become part of a document when they are answered.
"""


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """How an item last ended."""

    workflow: str
    item: str
    digest: str
    """SHA-256 of the input of the item."""
    state: State
    failure: Failure | None
    message: str
    rounds: int
    attempts: int
    seconds: float
    run: str
    updated: str
    artefact: str = ""
    """Repository path of the document, if one was filed."""
    superseded: str = ""
    """Name of the kept previous version of the document."""
    findings: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    source: str = ""
    """Where the item came from; empty if unknown."""
    schema: int = SCHEMA

    @classmethod
    def of(
        cls,
        item: Item,
        outcome: Outcome,
        *,
        digest: str,
        run: str,
        attempts: int,
        seconds: float,
        artefact: str = "",
        superseded: str = "",
    ) -> ItemRecord:
        """Return the record of an item that has just ended."""
        return cls(
            workflow=item.kind,
            item=item.id,
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
            source=item.source,
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


def read_record(path: Path) -> ItemRecord | None:
    """Return the record, or None if it is missing or invalid."""
    try:
        data = json.loads(read_regular(path, RECORD_LIMIT))
        data["state"] = State(data["state"])
        failure = data["failure"]
        data["failure"] = None
        if failure:
            data["failure"] = Failure(failure)
        for name in ("findings", "questions"):
            data[name] = tuple(map(str, data.get(name, ())))
        data["source"] = str(data.get("source", ""))
        return ItemRecord(**data)
    except (BadInput, ValueError, TypeError, KeyError):
        return None


def write_record(path: Path, record: ItemRecord, temporary: FilePath) -> None:
    """Replace the record atomically."""
    data = asdict(record)
    for name, value in data.items():
        if name not in _UNCHANGED:
            data[name] = _redact(value)
    # With an indent, each call would leave objects to the garbage collector.
    text = json.dumps(data)
    write_atomically(path, text.encode(), temporary=temporary)


def _redact(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        return [redact(str(text)) for text in value]
    return value
