"""Tell whether an item is complete: the one rule, for those who select and those who run."""

from __future__ import annotations

from pathlib import Path

from agentos.errors import BadInput
from agentos.files import open_regular
from agentos.places import document_path
from agentos.records import Record
from agentos.task import ENDED, Task

STAMP_WINDOW = 512


def is_complete(task: Task, record: Record | None, digest: str, repository: Path) -> bool:
    """Tell whether an item has ended with this very input and what it gave is still there.

    Where nothing is recorded, as in a colleague's clone, the finished document itself says which input it is of.
    """
    if record is None:
        document = repository / document_path(task.workflow, task.item)
        return any(_is_stamped(path, digest) for path in _places(document))
    if record.state not in ENDED or record.digest != digest:
        return False
    return not record.artefact or any(path.exists() for path in _places(repository / record.artefact))


def _is_stamped(document: Path, digest: str) -> bool:
    try:
        with open_regular(document) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - STAMP_WINDOW))
            return f"input=sha256:{digest} -->".encode() in file.read()
    except (BadInput, OSError):
        return False


def _places(artefact: Path) -> tuple[Path, ...]:
    """Return where a result may be: where it was put, or with those that are implemented already."""
    return artefact, artefact.parent.parent / "done" / artefact.name
