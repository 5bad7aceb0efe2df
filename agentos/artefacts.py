"""Make an item's files visible in the repository together or not at all.

The worker *prepares* them: written to the disk under hidden names beside their targets, where a full disk can still be
backed out of. The coordinator *commits* by recording the item's end, and *reveals*, which is renames only. A kill
before the record leaves nothing visible, one after it is rolled forward by the next run. The hidden names are the same
at every attempt, so none is ever left behind. What stood at a target before is kept under `docs/lineage/superseded`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import SHARED_FILE, remove_tree, sync_directory, write_atomically, write_new

SUPERSEDED = "docs/lineage/superseded"
STAMP = "<!-- agentos: "


@dataclass(frozen=True, slots=True)
class Artefacts:
    """What an item has to show: its papers by name, and the finished document, empty when there is none."""

    papers: Mapping[str, str]
    document: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """The way of one item's files into a repository: plain data, so that a worker can be told of it."""

    repository: str
    folder: str
    """The folder of its papers, as a path in the repository."""
    document: str
    """The finished document, as a path in the repository, when there is one."""
    mark: str
    """Part of the hidden names: of this item in this home alone, and the same at every attempt."""

    def prepare(self, artefacts: Artefacts) -> None:
        """Write everything to the disk under hidden names; an earlier attempt is replaced."""
        self.abandon()
        try:
            self._prepare(artefacts)
        except (PermissionError, NotADirectoryError) as error:
            # A folder that cannot be written is told by its own name, not by that of a hidden file in it.
            folder = str(error.filename).rpartition("/")[0]
            raise OSError(error.errno, f"cannot be written ({error.strerror})", folder) from error

    @property
    def is_prepared(self) -> bool:
        """Whether there is something to reveal or to take back."""
        return os.path.lexists(self._hidden(self.folder)) or os.path.lexists(self._hidden(self.document))

    @property
    def has_document(self) -> bool:
        """Whether a finished document was prepared."""
        return os.path.lexists(self._hidden(self.document))

    def abandon(self) -> None:
        """Remove what was prepared."""
        if self.is_prepared:
            remove_tree(Path(self._hidden(self.folder)))
            Path(self._hidden(self.document)).unlink(missing_ok=True)

    def name_for_superseded(self) -> str:
        """Return a free name for what stands at the targets now, empty when nothing does."""
        if not os.path.lexists(self._target(self.folder)) and not os.path.lexists(self._target(self.document)):
            return ""
        name, number = self.folder.rpartition("/")[2], 1
        while os.path.lexists(self._target(f"{SUPERSEDED}/{name}-{number}")):
            number += 1
        return f"{name}-{number}"

    def reveal(self, result: str, superseded: str) -> None:
        """Rename everything into its place; safe to call again after any interruption.

        `result` is the recorded one: with the document for it, a design that stood there before is replaced, otherwise
        it is retired.
        """
        superseded = superseded or self.name_for_superseded()
        kept = self._target(f"{SUPERSEDED}/{superseded}")
        folder, hidden = self._target(self.folder), self._hidden(self.folder)
        if os.path.lexists(hidden):
            if os.path.lexists(folder):
                self._make_parent(kept)
                Path(folder).rename(kept)
            Path(hidden).rename(folder)
        if result != self.document:
            self._retire_document(Path(kept))
        elif os.path.lexists(self._hidden(self.document)):
            if os.path.lexists(self._target(self.document)):
                self._keep_old_document(Path(kept))
            Path(self._hidden(self.document)).replace(self._target(self.document))
        if superseded:
            # An old document in the place of a new one would pass for it, so here the renames must last.
            sync_directory(Path(folder).parent)
            sync_directory(Path(self._target(self.document)).parent)

    def _prepare(self, artefacts: Artefacts) -> None:
        folder = Path(self._hidden(self.folder))
        self._make_parent(str(folder))
        folder.mkdir()
        for name, text in artefacts.papers.items():
            write_new(folder / name, text.encode("utf-8", "surrogatepass"), mode=SHARED_FILE)
        sync_directory(folder)
        sync_directory(folder.parent)
        if artefacts.document:
            document = Path(self._hidden(self.document))
            self._make_parent(str(document))
            write_new(document, artefacts.document.encode("utf-8", "surrogatepass"), mode=SHARED_FILE)
            sync_directory(document.parent)

    def _target(self, path: str) -> str:
        return f"{self.repository}/{path}"

    def _hidden(self, path: str) -> str:
        parent, _, name = path.rpartition("/")
        return f"{self.repository}/{parent}/.{name}.{self.mark}.tmp"

    def _retire_document(self, kept: Path) -> None:
        """Take away a design of ours that this end no longer approves; one written by hand stays."""
        document = Path(self._target(self.document))
        try:
            is_ours = STAMP in document.read_text("utf-8", "replace")
        except OSError:
            return
        if is_ours and not document.is_symlink():
            kept.mkdir(parents=True, exist_ok=True)
            document.rename(kept / document.name)

    def _keep_old_document(self, kept_folder: Path) -> None:
        document = Path(self._target(self.document))
        kept = kept_folder / document.name
        if os.path.lexists(kept):
            return
        self._make_parent(str(kept))
        if document.is_symlink() or not document.is_file():
            # A link is kept as a link: what it leads to is none of ours to read.
            document.rename(kept)
            return
        old = document.read_bytes()
        if old != Path(self._hidden(self.document)).read_bytes():
            temporary = kept.with_name(f".{kept.name}.{self.mark}.tmp")
            temporary.unlink(missing_ok=True)
            write_atomically(kept, old, mode=SHARED_FILE, temporary=temporary)

    def _make_parent(self, target: str) -> None:
        """Create the folder of a target, refusing one that a link leads out of the repository."""
        parent, repository = Path(target).parent, Path(self.repository)
        if not parent.resolve().is_relative_to(repository.resolve()):
            raise BadInput(
                f"{parent.relative_to(repository)}: leads outside the repository; remove the link and run again"
            )
        parent.mkdir(parents=True, exist_ok=True)
