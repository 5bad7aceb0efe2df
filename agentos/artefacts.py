"""Make an item's files visible in the repository together or not at all.

The worker *prepares* them: written to the disk under hidden names beside their targets, where a full disk can still be
backed out of. The coordinator *commits* by recording the item's end, and *reveals*, which is renames only. A kill
before the record leaves nothing visible, one after it is rolled forward by the next run. The hidden names are the same
at every attempt, so none is ever left behind. What stood at a target before is kept under `docs/lineage/superseded`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import SHARED_FILE, read_regular, remove_tree, sync_directory, write_atomically, write_new

SUPERSEDED = "docs/lineage/superseded"
STAMP = "<!-- agentos: "
DOCUMENT_LIMIT = 20_000_000


@dataclass(frozen=True, slots=True)
class Artefacts:
    """What an item has to show: for each of its folders the papers by name, and the finished document if any."""

    papers: Sequence[Mapping[str, str]]
    document: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """The way of one item's files into a repository: plain data, so that a worker can be told of it."""

    repository: str
    folders: tuple[str, ...]
    """The folders of its papers, as paths in the repository."""
    document: str
    """The finished document, as a path in the repository, when there is one; empty for items that never have one."""
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
        return self._has_document or any(os.path.lexists(self._hidden(folder)) for folder in self.folders)

    @property
    def result(self) -> str:
        """What was prepared, by the path that is told: the finished document, else the folder that says most."""
        return self.document if self._has_document else self.folders[-1]

    @property
    def _has_document(self) -> bool:
        return bool(self.document) and os.path.lexists(self._hidden(self.document))

    def abandon(self) -> None:
        """Remove what was prepared."""
        if self.is_prepared:
            for folder in self.folders:
                remove_tree(Path(self._hidden(folder)))
            if self.document:
                Path(self._hidden(self.document)).unlink(missing_ok=True)

    def name_for_superseded(self) -> str:
        """Return a free name for what stands at the targets now, empty when nothing does."""
        targets = (*self.folders, self.document) if self.document else self.folders
        if not any(os.path.lexists(self._target(target)) for target in targets):
            return ""
        name, number = self.folders[0].rpartition("/")[2], 1
        while any(os.path.lexists(kept) for kept in self._kept_folders(f"{name}-{number}")):
            number += 1
        return f"{name}-{number}"

    def reveal(self, result: str, superseded: str) -> None:
        """Rename everything into its place; safe to call again after any interruption.

        `result` is the recorded one: with the document for it, a design that stood there before is replaced, otherwise
        it is retired.
        """
        superseded = superseded or self.name_for_superseded()
        kept_folders = self._kept_folders(superseded)
        for folder, kept in zip(self.folders, kept_folders, strict=True):
            self._reveal_folder(folder, kept)
        if self.document:
            self._reveal_document(result, Path(kept_folders[0]))
        if superseded:
            # An old document in the place of a new one would pass for it, so here the renames must last.
            for target in (*self.folders, *([self.document] if self.document else [])):
                sync_directory(Path(self._target(target)).parent)

    def _reveal_folder(self, folder: str, kept: str) -> None:
        hidden, target = self._hidden(folder), self._target(folder)
        if os.path.lexists(hidden):
            if os.path.lexists(target):
                self._make_parent(kept)
                Path(target).rename(kept)
            Path(hidden).rename(target)

    def _reveal_document(self, result: str, kept: Path) -> None:
        if result != self.document:
            self._retire_document(kept)
        elif os.path.lexists(self._hidden(self.document)):
            if os.path.lexists(self._target(self.document)):
                self._keep_old_document(kept)
            Path(self._hidden(self.document)).replace(self._target(self.document))

    def _kept_folders(self, superseded: str) -> list[str]:
        """Return where each folder goes when another takes its place; only the first has the mere name."""
        names = [superseded, *(f"{superseded}-{folder.split('/')[-2]}" for folder in self.folders[1:])]
        return [self._target(f"{SUPERSEDED}/{name}") for name in names]

    def _prepare(self, artefacts: Artefacts) -> None:
        for place, papers in zip(self.folders, artefacts.papers, strict=True):
            self._prepare_folder(Path(self._hidden(place)), papers)
        if artefacts.document:
            document = Path(self._hidden(self.document))
            self._make_parent(str(document))
            write_new(document, artefacts.document.encode("utf-8", "surrogatepass"), mode=SHARED_FILE)
            sync_directory(document.parent)

    def _prepare_folder(self, folder: Path, papers: Mapping[str, str]) -> None:
        self._make_parent(str(folder))
        folder.mkdir()
        for name, text in papers.items():
            write_new(folder / name, text.encode("utf-8", "surrogatepass"), mode=SHARED_FILE)
        sync_directory(folder)
        sync_directory(folder.parent)

    def _target(self, path: str) -> str:
        return f"{self.repository}/{path}"

    def _hidden(self, path: str) -> str:
        parent, _, name = path.rpartition("/")
        return f"{self.repository}/{parent}/.{name}.{self.mark}.tmp"

    def _retire_document(self, kept: Path) -> None:
        """Take away a design of ours that this end no longer approves; one written by hand stays."""
        document = Path(self._target(self.document))
        try:
            is_ours = STAMP.encode() in read_regular(document, DOCUMENT_LIMIT)
        except BadInput:
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
        try:
            old = read_regular(document, DOCUMENT_LIMIT)
        except BadInput:
            old = b""
        if document.is_symlink() or not old:
            # A link is kept as a link: what it leads to is none of ours to read. So is what cannot be read.
            document.rename(kept)
            return
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
