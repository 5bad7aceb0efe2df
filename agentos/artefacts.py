"""Make an item's files visible in the repository together or not at all.

The worker puts its results into a staging folder, ended by a manifest. The coordinator's side then *prepares* (copies
them under temporary names beside their targets, where a full disk can still be backed out of), *commits* (one marker
file in the staging folder) and *reveals* (renames only). A kill before the marker leaves nothing visible, one after it
is rolled forward by the next run; either way the manifest knows the temporary names, so none is left behind.
Where the files go is the coordinator's own knowledge: a worker only says what is in them.
What stood at a target before is kept under `docs/lineage/superseded`.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import (
    SHARED_FILE,
    make_private_directory,
    remove_tree,
    sync_directory,
    sync_file,
    write_atomically,
    write_new,
)
from agentos.task import Outcome

MANIFEST = "manifest.json"
UNFINISHED_MANIFEST = "manifest.unfinished"
COMMITTED = "committed"
SUPERSEDED = Path("docs/lineage/superseded")
STAMP = "<!-- agentos: "

_NONCE = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Targets:
    """Where the files of an item go, as paths in the repository."""

    folder: str
    """The folder of its papers."""
    document: str
    """The finished document, when there is one."""


@dataclass(frozen=True, slots=True)
class Artefacts:
    """What an item has to show: its papers by name, and the finished document, empty when there is none."""

    papers: Mapping[str, str]
    document: str = ""


def stage(staging: Path, artefacts: Artefacts, outcome: Outcome, digest: str) -> None:
    """Write the results of a finished item into its staging folder; the manifest comes last.

    Nothing here is forced to the disk: before the commit, the checkpoint would give the same results again.
    """
    remove_tree(staging)
    papers = make_private_directory(staging / "papers")
    for name, text in artefacts.papers.items():
        write_new(papers / name, text.encode("utf-8", "surrogatepass"), is_durable=False)
    if artefacts.document:
        write_new(staging / "document", artefacts.document.encode("utf-8", "surrogatepass"), is_durable=False)
    manifest = {"outcome": outcome.to_json(), "digest": digest, "nonce": secrets.token_hex(8)}
    write_new(staging / UNFINISHED_MANIFEST, json.dumps(manifest).encode(), is_durable=False)
    (staging / UNFINISHED_MANIFEST).rename(staging / MANIFEST)


@dataclass(frozen=True, slots=True)
class Publication:
    """A complete staging folder on its way into a repository."""

    staging: Path
    repository: Path
    targets: Targets
    outcome: Outcome
    digest: str
    """Hash of the input that these results belong to."""
    nonce: str

    @classmethod
    def find(cls, staging: Path, repository: Path, targets: Targets) -> Publication | None:
        """Return what is staged, None when the staging folder is not complete or makes no sense."""
        try:
            manifest = json.loads((staging / MANIFEST).read_bytes())
            outcome, digest, nonce = Outcome.from_json(manifest["outcome"]), manifest["digest"], manifest["nonce"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(digest, str) or not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
            return None
        return cls(staging, repository, targets, outcome, digest, nonce)

    @property
    def is_committed(self) -> bool:
        """Whether this must now become visible, whatever happens."""
        return (self.staging / COMMITTED).exists()

    @property
    def result(self) -> str:
        """Repository path of what a person would open: the document, or else the folder of papers."""
        return self.targets.document if self._has_document else self.targets.folder

    def publish(self) -> None:
        """Make everything visible; safe to call again after any interruption."""
        if not self.is_committed:
            try:
                self._prepare_or_name_the_folder()
                write_atomically(self.staging / COMMITTED, self._free_name().encode())
            except BaseException:
                self.abandon()
                raise
        self._reveal()

    def abandon(self) -> None:
        """Remove what was prepared and not committed."""
        remove_tree(self._temporary(self._folder))
        self._temporary(self._document).unlink(missing_ok=True)

    @property
    def _has_document(self) -> bool:
        return (self.staging / "document").exists()

    @property
    def _folder(self) -> Path:
        return self.repository / self.targets.folder

    @property
    def _document(self) -> Path:
        return self.repository / self.targets.document

    def _temporary(self, target: Path) -> Path:
        return target.with_name(f".{target.name}.{self.nonce}.tmp")

    def _prepare_or_name_the_folder(self) -> None:
        """Prepare; a folder that cannot be written is told by its own name, not by that of a hidden file in it."""
        try:
            self._prepare()
        except (PermissionError, NotADirectoryError) as error:
            folder = Path(str(error.filename)).parent
            raise OSError(error.errno, f"cannot be written ({error.strerror})", str(folder)) from error

    def _prepare(self) -> None:
        # The names first: whatever is prepared must be found again after a power loss.
        sync_file(self.staging / MANIFEST)
        sync_directory(self.staging)
        self._make_parent(self._folder)
        temporary = self._temporary(self._folder)
        remove_tree(temporary)
        temporary.mkdir()
        for paper in sorted((self.staging / "papers").iterdir()):
            write_new(temporary / paper.name, paper.read_bytes(), mode=SHARED_FILE)
        sync_directory(temporary)
        sync_directory(temporary.parent)
        if self._has_document:
            self._make_parent(self._document)
            target = self._temporary(self._document)
            target.unlink(missing_ok=True)
            write_new(target, (self.staging / "document").read_bytes(), mode=SHARED_FILE)
            sync_directory(target.parent)

    def _reveal(self) -> None:
        kept = self.repository / SUPERSEDED / (self.staging / COMMITTED).read_text()
        temporary = self._temporary(self._folder)
        if temporary.exists():
            if os.path.lexists(self._folder):
                self._make_parent(kept)
                self._folder.rename(kept)
            temporary.rename(self._folder)
            sync_directory(self._folder.parent)
        if not self._has_document:
            self._retire_document(kept)
        elif self._temporary(self._document).exists():
            if os.path.lexists(self._document):
                self._keep_old_document(kept)
            self._temporary(self._document).replace(self._document)
            sync_directory(self._document.parent)

    def _free_name(self) -> str:
        """Return a name for what stood here before; the item's lock sees that nobody else takes it."""
        number = 1
        while os.path.lexists(self.repository / SUPERSEDED / f"{self._folder.name}-{number}"):
            number += 1
        return f"{self._folder.name}-{number}"

    def _retire_document(self, kept: Path) -> None:
        """Take away a design of ours that this end no longer approves; one written by hand stays."""
        try:
            is_ours = STAMP in self._document.read_text("utf-8", "replace")
        except OSError:
            return
        if is_ours and not self._document.is_symlink():
            kept.mkdir(parents=True, exist_ok=True)
            self._document.rename(kept / self._document.name)
            sync_directory(self._document.parent)

    def _keep_old_document(self, kept_folder: Path) -> None:
        kept = kept_folder / self._document.name
        if os.path.lexists(kept):
            return
        self._make_parent(kept)
        if self._document.is_symlink() or not self._document.is_file():
            # A link is kept as a link: what it leads to is none of ours to read.
            self._document.rename(kept)
            return
        old = self._document.read_bytes()
        if old != (self.staging / "document").read_bytes():
            temporary = self._temporary(kept)
            temporary.unlink(missing_ok=True)
            write_atomically(kept, old, mode=SHARED_FILE, temporary=temporary)

    def _make_parent(self, target: Path) -> None:
        """Create the folder of a target, refusing one that a link leads out of the repository."""
        parent = target.parent
        if not parent.resolve().is_relative_to(self.repository.resolve()):
            shown = parent.relative_to(self.repository)
            raise BadInput(f"{shown}: leads outside the repository; remove the link and run again")
        parent.mkdir(parents=True, exist_ok=True)
