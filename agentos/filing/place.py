"""Where an item that is to be filed is at home: its document, its record, what is known of its filing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.documents.issue_filing import filed_as, note_filing
from agentos.errors import BadInput
from agentos.files import is_inside, read_regular, write_atomically
from agentos.filing.record import filing_path, read_filing
from agentos.home import Home
from agentos.places import document_path
from agentos.records import Record, read_record
from agentos.task import State, Task

DOCUMENT_LIMIT = 2_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """A repository on this machine and the state of its items."""

    home: Home
    key: str
    repository: Path

    def record(self, task: Task) -> Record | None:
        """Return how an item ended."""
        return read_record(self.home.item(self.key, task).record)

    def filing(self, task: Task) -> Path:
        """Return where an item's filing is kept."""
        return filing_path(self.home.root, self.key, task)

    def read_document(self, task: Task) -> str:
        """Return an item's finished document; a link is refused, as what it leads to is nobody's to publish."""
        name = document_path(task.workflow, task.item)
        path = self.repository / name
        if path.is_symlink() or not is_inside(path, self.repository):
            raise BadInput(f"{name}: is a link; put the document itself there")
        return read_regular(path, DOCUMENT_LIMIT).decode("utf-8", "replace")

    def note_filing(self, task: Task, reference: str) -> None:
        """Say in an item's document where it was filed."""
        text = self.read_document(task)
        if filed_as(text) == reference:
            return
        path = self.repository / document_path(task.workflow, task.item)
        # The same name at every attempt, so that a kill leaves nothing behind for ever.
        temporary = path.with_name(f".{path.name}.{self.key}.filed.tmp")
        temporary.unlink(missing_ok=True)
        noted = note_filing(text, reference).encode("utf-8", "replace")
        write_atomically(path, noted, mode=path.stat().st_mode & 0o777, temporary=temporary)

    def is_unfiled(self, task: Task) -> bool:
        """Tell whether a complete item is approved and is still to be filed, or to have that noted."""
        record = self.record(task)
        if record is not None and record.state is not State.APPROVED:
            return False
        try:
            noted = filed_as(self.read_document(task))
            filing = read_filing(self.filing(task))
        except BadInput:
            # Why it cannot be filed is told when it is tried.
            return True
        if filing is not None:
            return not filing.number or noted != filing.reference
        # In the clone of a colleague nothing is recorded, and the document alone knows.
        return record is not None or not noted
