"""Find the files of an item to be filed: its document, its record and its filing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.documents.issue_filing import filed_as, note_filing
from agentos.documents.provenance import SKELETON_STATUS, final_status
from agentos.errors import BadInput
from agentos.item import Item, State
from agentos.repository.completion import settle
from agentos.repository.forge.filing.record import filing_path, read_filing
from agentos.repository.paths import document_path
from agentos.state.files import is_inside, read_regular, write_atomically
from agentos.state.home import Home
from agentos.state.records import ItemRecord, read_record

DOCUMENT_LIMIT = 2_000_000


@dataclass(frozen=True, slots=True)
class FilingPaths:
    """A local repository and the state of its items."""

    home: Home
    key: str
    repository: Path

    def record(self, item: Item) -> ItemRecord | None:
        """Return the record of an item."""
        record = read_record(self.home.item(self.key, item).record)
        if record is None:
            return None
        return settle(record, self.repository)

    def filing(self, item: Item) -> Path:
        """Return the path of an item's filing."""
        return filing_path(self.home.root, self.key, item)

    def read_document(self, item: Item) -> str:
        """Return an item's finished document; a link is refused, as its target may be
        private.
        """
        name = document_path(item.kind, item.id)
        path = self.repository / name
        if path.is_symlink() or not is_inside(path, self.repository):
            raise BadInput(f"{name}: is a link; put the document itself there")
        data = read_regular(path, DOCUMENT_LIMIT)
        return data.decode("utf-8", "replace")

    def note_filing(self, item: Item, reference: str) -> None:
        """Note in an item's document where it was filed."""
        text = self.read_document(item)
        if filed_as(text) == reference:
            return
        path = self.repository / document_path(item.kind, item.id)
        # A fixed name, so that the next attempt removes what a kill left behind.
        temporary = path.with_name(f".{path.name}.{self.key}.filed.tmp")
        temporary.unlink(missing_ok=True)
        noted = note_filing(text, reference).encode("utf-8", "replace")
        mode = path.stat().st_mode & 0o777
        write_atomically(path, noted, mode=mode, temporary=temporary)

    def is_unfiled(self, item: Item) -> bool:
        """Tell whether an approved item has still to be filed, or its filing to be
        noted.
        """
        record = self.record(item)
        if record is not None and record.state is not State.APPROVED:
            return False
        try:
            text = self.read_document(item)
            if final_status(text) == SKELETON_STATUS:
                return False
            noted = filed_as(text)
            filing = read_filing(self.filing(item))
        except BadInput:
            # The attempt to file it reports the reason.
            return True
        if filing is not None:
            return not filing.number or noted != filing.reference
        if record is not None:
            return True
        # In a colleague's clone there is no record, only the note in the document.
        return not noted
