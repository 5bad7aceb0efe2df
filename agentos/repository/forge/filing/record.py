"""Record the filing of an item: an intent before the forge is asked, the number
afterwards.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.item import Item
from agentos.repository.forge import FILING_MARK
from agentos.state.files import (
    make_private_directory,
    read_regular,
    sync_directory,
    write_atomically,
)

SCHEMA = 1
LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class Filing:
    """An item that is being filed or was filed."""

    repository: str
    """Where it was sent, as `owner/name`."""
    marker: str
    """Random text in the body of the issue, to find it again if the response is lost.
    """
    since: float
    """A time before the issue was created, by the forge's clock."""
    sent: float = 0.0
    """Time of the last attempt, by our own clock."""
    number: int = 0
    """The issue number, 0 while it is unknown."""
    url: str = ""
    content: str = ""
    """Hash of the title and text that were sent; empty in old records."""
    schema: int = SCHEMA

    @property
    def reference(self) -> str:
        """The issue as `owner/name#42`."""
        return f"{self.repository}#{self.number}"

    @property
    def comment(self) -> str:
        """The marker as an HTML comment."""
        return f"{FILING_MARK} {self.marker} -->"


def new_marker() -> str:
    """Return a marker that nobody can guess and put into an issue of their own."""
    return secrets.token_hex(16)


def filing_path(home: Path, repository: str, item: Item) -> Path:
    """Return the path of an item's filing; an item is filed once, in whichever
    repository.
    """
    return home / "filings" / repository / f"{item.kind}_{item.id}.json"


def read_filing(path: Path) -> Filing | None:
    """Return the filing, None if there is none; one that is not valid raises `BadInput`, as
    the issue may be filed.
    """
    if not os.path.lexists(path):
        return None
    try:
        filing = Filing(**json.loads(read_regular(path, LIMIT)))
        is_valid = isinstance(filing.number, int) and isinstance(filing.marker, str)
        if not is_valid or len(filing.marker) < 16:
            raise ValueError
        float(filing.since)
        float(filing.sent)
    except (ValueError, TypeError):
        raise BadInput(
            f"{path}: cannot be understood; remove it if the issue is not filed yet"
        ) from None
    return filing


def write_filing(path: Path, filing: Filing) -> None:
    """Write the filing durably; the caller holds the item's lock."""
    write_durably(path, json.dumps(asdict(filing), indent=1).encode())


def write_durably(path: Path, data: bytes) -> None:
    """Replace a private file so that it survives a power loss, with its folder; the
    caller holds the item's lock.
    """
    if not path.parent.is_dir():
        make_private_directory(path.parent)
        # The intent must survive a power loss, so its new folders must as well.
        for folder in (path.parent.parent, path.parent.parent.parent):
            sync_directory(folder)
    # A fixed name, so that the next attempt removes what a kill left behind.
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    write_atomically(path, data, temporary=temporary)
