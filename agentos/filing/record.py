"""What is known of the filing of an item: an intent before the tracker is asked, its number afterwards."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import make_private_directory, read_regular, sync_directory, write_atomically
from agentos.github import FILING_MARK
from agentos.task import Task

SCHEMA = 1
LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class Filing:
    """One item on its way into a tracker, or there."""

    repository: str
    """Where it was sent, as `owner/name`."""
    marker: str
    """A secret of chance in the body of the issue, by which it is found again when its answer never came."""
    since: float
    """A moment before it can have been created, by the tracker's clock."""
    sent: float = 0.0
    """When it was sent last, by our own clock."""
    number: int = 0
    """The tracker's number, 0 as long as it is not known."""
    url: str = ""
    content: str = ""
    """Hash of the title and the text that were sent; empty when that was not kept."""
    schema: int = SCHEMA

    @property
    def reference(self) -> str:
        """The issue as people name it: `owner/name#42`."""
        return f"{self.repository}#{self.number}"

    @property
    def comment(self) -> str:
        """The marker as readers do not see it."""
        return f"{FILING_MARK} {self.marker} -->"


def new_marker() -> str:
    """Return a marker that nobody can guess, so that nobody can have an issue of theirs taken for ours."""
    return secrets.token_hex(16)


def filing_path(home: Path, repository: str, task: Task) -> Path:
    """Return where an item's filing is kept: one for each item, as it is filed once whatever the tracker."""
    return home / "filings" / repository / f"{task.workflow}_{task.item}.json"


def read_filing(path: Path) -> Filing | None:
    """Return the filing, None when there is none; one that cannot be understood may stand for a filed issue."""
    if not os.path.lexists(path):
        return None
    try:
        data = json.loads(read_regular(path, LIMIT))
        filing = Filing(**data)
        if not (isinstance(filing.number, int) and isinstance(filing.marker, str) and len(filing.marker) >= 16):
            raise ValueError
        float(filing.since), float(filing.sent)
    except (ValueError, TypeError):
        raise BadInput(f"{path}: cannot be understood; remove it if the issue is not filed yet") from None
    return filing


def write_filing(path: Path, filing: Filing) -> None:
    """Replace what is known, on the disk when this returns; whoever calls holds the item's lock."""
    if not path.parent.is_dir():
        make_private_directory(path.parent)
        # An intent that a power loss could take away with its folder would be none.
        for folder in (path.parent.parent, path.parent.parent.parent):
            sync_directory(folder)
    # The same name at every attempt, so that a kill leaves nothing behind for ever.
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    write_atomically(path, json.dumps(asdict(filing), indent=1).encode(), temporary=temporary)
