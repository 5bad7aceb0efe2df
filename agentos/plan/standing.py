"""Tell whether an item is complete: the one rule, for those who select and those who run."""

from __future__ import annotations

from pathlib import Path

from agentos.records import Record
from agentos.task import ENDED


def is_complete(record: Record | None, digest: str, repository: Path) -> bool:
    """Tell whether an item has ended with this very input and what it gave is still there."""
    if record is None or record.state not in ENDED or record.digest != digest:
        return False
    return not record.artefact or any(path.exists() for path in _places(repository / record.artefact))


def _places(artefact: Path) -> tuple[Path, ...]:
    """Return where a result may be: where it was put, or with those that are implemented already."""
    return artefact, artefact.parent.parent / "done" / artefact.name
