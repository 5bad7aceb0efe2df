"""Make an item's files visible in the repository together or not at all.

The worker puts its results into a staging folder, ended by a manifest. The coordinator's side then *prepares* (copies
them under temporary names beside their targets, where a full disk can still be backed out of), *commits* (one marker
file in the staging folder) and *reveals* (renames only). A kill before the marker leaves nothing visible, one after it
is rolled forward by the next run; either way the manifest knows the temporary names, so none is left behind.
What stood at a target before is kept under `docs/lineage/superseded`.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentos.errors import BadInput
from agentos.files import (
    SHARED_FILE,
    make_private_directory,
    remove_tree,
    sync_directory,
    write_atomically,
    write_new,
)
from agentos.task import Outcome

MANIFEST = "manifest.json"
UNFINISHED_MANIFEST = "manifest.unfinished"
COMMITTED = "committed.json"
SUPERSEDED = Path("docs/lineage/superseded")


@dataclass(frozen=True, slots=True)
class Artefacts:
    """The files of one item: its papers in a folder of their own, and the document if there is one."""

    folder: str
    papers: Mapping[str, str]
    document: str = ""
    """Repository path of the finished document."""
    text: str = ""


def stage(staging: Path, artefacts: Artefacts, outcome: Outcome, digest: str) -> None:
    """Write the results of a finished item into its staging folder; the manifest comes last.

    Nothing here is forced to the disk: after a power loss the checkpoint gives the same results again, and what was
    committed had been prepared durably beside its targets.
    """
    remove_tree(staging)
    papers = make_private_directory(staging / "papers")
    for name, text in artefacts.papers.items():
        write_new(papers / name, text.encode("utf-8", "surrogatepass"), is_durable=False)
    if artefacts.document:
        write_new(staging / "document", artefacts.text.encode("utf-8", "surrogatepass"), is_durable=False)
    manifest = {
        "folder": artefacts.folder,
        "document": artefacts.document,
        "outcome": outcome.to_json(),
        "digest": digest,
        "nonce": secrets.token_hex(8),
    }
    write_new(staging / UNFINISHED_MANIFEST, json.dumps(manifest).encode(), is_durable=False)
    (staging / UNFINISHED_MANIFEST).rename(staging / MANIFEST)


@dataclass(frozen=True, slots=True)
class Publication:
    """A complete staging folder on its way into a repository."""

    staging: Path
    repository: Path
    manifest: Mapping[str, Any]

    @classmethod
    def find(cls, staging: Path, repository: Path) -> Publication | None:
        """Return what is staged, None when the staging folder is not complete."""
        try:
            return cls(staging, repository, json.loads((staging / MANIFEST).read_bytes()))
        except (OSError, ValueError):
            return None

    @property
    def is_committed(self) -> bool:
        """Whether this must now become visible, whatever happens."""
        return (self.staging / COMMITTED).exists()

    @property
    def outcome(self) -> Outcome:
        """How the item ended."""
        return Outcome.from_json(self.manifest["outcome"])

    @property
    def digest(self) -> str:
        """Hash of the input that these results belong to."""
        return str(self.manifest["digest"])

    @property
    def document(self) -> str:
        """Repository path of the document, empty when there is none."""
        return str(self.manifest["document"])

    @property
    def result(self) -> str:
        """Repository path of what a person would open: the document, or else the folder of papers."""
        return self.document or str(self.manifest["folder"])

    def publish(self) -> None:
        """Make everything visible; safe to call again after any interruption."""
        if not self.is_committed:
            try:
                self._prepare()
            except BaseException:
                self.abandon()
                raise
            self._commit()
        self._reveal()

    def abandon(self) -> None:
        """Remove what was prepared and not committed."""
        remove_tree(self._temporary(self._folder))
        if self.document:
            self._temporary(self._document).unlink(missing_ok=True)

    @property
    def _folder(self) -> Path:
        return self.repository / str(self.manifest["folder"])

    @property
    def _document(self) -> Path:
        return self.repository / self.document

    def _temporary(self, target: Path) -> Path:
        return target.with_name(f".{target.name}.{self.manifest['nonce']}.tmp")

    def _prepare(self) -> None:
        self._make_parent(self._folder)
        temporary = self._temporary(self._folder)
        remove_tree(temporary)
        temporary.mkdir()
        for paper in sorted((self.staging / "papers").iterdir()):
            write_new(temporary / paper.name, paper.read_bytes(), mode=SHARED_FILE)
        sync_directory(temporary)
        if self.document:
            self._make_parent(self._document)
            target = self._temporary(self._document)
            target.unlink(missing_ok=True)
            write_new(target, (self.staging / "document").read_bytes(), mode=SHARED_FILE)

    def _commit(self) -> None:
        has_old = os.path.lexists(self._folder) or (bool(self.document) and os.path.lexists(self._document))
        marker = {"superseded": str(self._free_superseded()) if has_old else ""}
        write_atomically(self.staging / COMMITTED, json.dumps(marker).encode())

    def _reveal(self) -> None:
        superseded = json.loads((self.staging / COMMITTED).read_bytes())["superseded"]
        temporary = self._temporary(self._folder)
        if temporary.exists():
            if superseded and os.path.lexists(self._folder):
                self._keep_old_folder(self.repository / superseded)
            temporary.rename(self._folder)
            sync_directory(self._folder.parent)
        if self.document and self._temporary(self._document).exists():
            if superseded and os.path.lexists(self._document):
                self._keep_old_document(self.repository / superseded)
            self._temporary(self._document).replace(self._document)
            sync_directory(self._document.parent)

    def _keep_old_folder(self, superseded: Path) -> None:
        self._make_parent(superseded)
        self._folder.rename(superseded)

    def _keep_old_document(self, superseded: Path) -> None:
        kept = superseded / self._document.name
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

    def _free_superseded(self) -> Path:
        number = 1
        while (self.repository / (path := SUPERSEDED / f"{self._folder.name}-{number}")).exists():
            number += 1
        return path

    def _make_parent(self, target: Path) -> None:
        """Create the folder of a target, refusing one that a link leads out of the repository."""
        parent = target.parent
        if not parent.resolve().is_relative_to(self.repository.resolve()):
            raise BadInput(
                f"{parent.relative_to(self.repository)}: leads outside the repository; remove the link and run again"
            )
        parent.mkdir(parents=True, exist_ok=True)
