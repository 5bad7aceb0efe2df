"""Make an item's files visible in the repository together or not at all.

A worker only returns them. The thread of the item in the coordinator *prepares* them: it
writes them under hidden names beside their targets, where a full disk can still be
handled. Then it *commits* by recording the item's end, and *reveals* them, which is
renames only. If a kill comes before the record, nothing is visible, and the next run
gets the files again from the completed checkpoint; if it comes after the record, the
next run completes the renames. The hidden names are the same at every attempt, so none
is ever left behind. Previous files at a target are kept under
`docs/lineage/superseded`.

Paths are plain texts here: pathlib enters every name into the interpreter's table of
interned strings, and names that differ for every item would make that table grow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentos.errors import BadInput
from agentos.state.files import (
    SHARED_FILE,
    read_regular,
    remove_file,
    remove_tree,
    sync_directory,
    sync_file,
    write_atomically,
    write_new,
)
from agentos.state.path_rules import check_path

SUPERSEDED = "docs/lineage/superseded"
_PROVENANCE_START = b"<!-- agentos: "
DOCUMENT_LIMIT = 20_000_000


@dataclass(frozen=True, slots=True)
class Amendment:
    """What an item changes in the document that it is made from: files that are added to
    the document's lineage, and a new version of the document.
    """

    files: Mapping[str, str]
    """The texts by name; they stand beside the files that are there."""
    document: str = ""
    """The new version, empty to leave the document as it is."""
    ledger: str = ""
    """Hash of the ledger that it goes on from, empty if there was none."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The results of an item: for each of its folders the texts by name, and the finished
    document if there is one.
    """

    files: Sequence[Mapping[str, str]]
    document: str = ""
    commit: str = ""
    """The finished work of an item that builds code."""
    bundle: bytes = b""
    """A git bundle with that commit, empty if the user's repository has it."""
    amendment: Amendment | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """The places of one item's files in a repository."""

    repository: str
    folders: tuple[str, ...]
    """The folders of its lineage files, as paths in the repository."""
    document: str
    """Path of the finished document in the repository, empty for items without one."""
    suffix: str
    """Suffix of the hidden names: unique to this item in this home, and the same at every
    attempt.
    """
    amended_folder: str = ""
    """The lineage folder of the document that the item is made from, to which it may add;
    empty for items that change no other document.
    """
    amended_document: str = ""
    """Path of that document."""

    def prepare(self, artifacts: Artifacts) -> None:
        """Write everything under hidden names, replacing an earlier attempt; raise
        `BadInput` for results that do not fit these places.
        """
        self._check(artifacts)
        self.abandon()
        try:
            self._prepare(artifacts)
        except (PermissionError, NotADirectoryError) as error:
            # The error names the folder, not the hidden file in it.
            folder = str(error.filename).rpartition("/")[0]
            message = f"cannot be written ({error.strerror})"
            raise OSError(error.errno, message, folder) from error

    @property
    def is_prepared(self) -> bool:
        """Whether there are hidden files to reveal or to remove."""
        if self._has_document:
            return True
        hidden = map(self._hidden, self._places)
        return any(map(os.path.lexists, hidden))

    @property
    def result(self) -> str:
        """The path to report: the finished document, else the most telling folder."""
        if self._has_document:
            return self.document
        if self._only_amends:
            return self.amended_document
        return self.folders[-1]

    @property
    def _only_amends(self) -> bool:
        """Whether a new version of the amended document is all that is prepared."""
        hidden = map(self._hidden, self.folders)
        present = map(os.path.lexists, hidden)
        if any(present):
            return False
        return self._amends_document

    @property
    def _amends_document(self) -> bool:
        if not self.amended_document:
            return False
        hidden = self._hidden(self.amended_document)
        return os.path.lexists(hidden)

    @property
    def _places(self) -> tuple[str, ...]:
        """The folders and files, other than the finished document, that may have hidden
        counterparts.
        """
        amended = (self.amended_folder, self.amended_document)
        given = filter(None, amended)
        return *self.folders, *given

    @property
    def _targets(self) -> tuple[str, ...]:
        if self.document:
            return *self.folders, self.document
        return self.folders

    @property
    def _has_document(self) -> bool:
        if not self.document:
            return False
        return os.path.lexists(self._hidden(self.document))

    def abandon(self) -> None:
        """Remove the hidden files."""
        if not self.is_prepared:
            return
        folders = (*self.folders, self.amended_folder)
        for folder in filter(None, folders):
            hidden = self._hidden(folder)
            remove_tree(hidden)
        if self._amends_document:
            hidden = self._hidden(self.amended_document)
            os.unlink(hidden)
        if self._has_document:
            hidden = self._hidden(self.document)
            os.unlink(hidden)

    def name_for_superseded(self) -> str:
        """Return a free name for the present files at the targets, empty if there are
        none.
        """
        targets = map(self._target, self._targets)
        if not any(map(os.path.lexists, targets)):
            return ""
        name = self.folders[0].rpartition("/")[2]
        number = 1
        free = f"{name}-{number}"
        while any(map(os.path.lexists, self._kept_folders(free))):
            number += 1
            free = f"{name}-{number}"
        return free

    def reveal(self, result: str, superseded: str) -> None:
        """Rename everything into place; safe to repeat after any interruption.

        `result` is the recorded one. If it is the document, the document replaces a
        previous one; otherwise a previous document is retired.
        """
        # The record has no name if nothing was at the targets then. A file that appeared
        # since is kept under a new name. What an interrupted reveal has already moved
        # in has no hidden counterpart and is left alone.
        if not superseded:
            superseded = self.name_for_superseded()
        kept_folders = self._kept_folders(superseded)
        for folder, kept in zip(self.folders, kept_folders, strict=True):
            self._reveal_folder(folder, kept)
        if self.document:
            self._reveal_document(result, kept_folders[0])
        # The lineage first: who sees the new version finds what was said of it.
        self._reveal_additions()
        self._reveal_new_version()
        if not superseded:
            return
        # After a power loss an old document must not pass for the new one, so these
        # renames must last.
        for target in self._targets:
            folder = os.path.dirname(self._target(target))
            # There is no folder of documents before the first one.
            if os.path.isdir(folder):
                sync_directory(folder)

    def _reveal_folder(self, folder: str, kept: str) -> None:
        hidden = self._hidden(folder)
        if not os.path.lexists(hidden):
            return
        target = self._target(folder)
        if os.path.lexists(target):
            self._make_parent(kept)
            os.rename(target, kept)
        os.rename(hidden, target)

    def _reveal_additions(self) -> None:
        """Move the added files to those that are there."""
        if not self.amended_folder:
            return
        hidden = self._hidden(self.amended_folder)
        if not os.path.lexists(hidden):
            return
        target = self._target(self.amended_folder)
        self._make_parent(f"{target}/added")
        names = os.listdir(hidden)
        for name in sorted(names):
            new = f"{hidden}/{name}"
            place = f"{target}/{name}"
            os.replace(new, place)
        sync_directory(target)
        os.rmdir(hidden)

    def _reveal_new_version(self) -> None:
        """Put the new version of the amended document in the place of the present
        one, which is kept.
        """
        if not self._amends_document:
            return
        hidden = self._hidden(self.amended_document)
        target = self._target(self.amended_document)
        if os.path.lexists(target):
            self._keep_version(target)
        os.replace(hidden, target)
        folder = os.path.dirname(target)
        sync_directory(folder)

    def _keep_version(self, target: str) -> None:
        """Keep the bytes of an amended document, once; a kill may come after it."""
        old = read_regular(target, DOCUMENT_LIMIT)
        lineage = self.amended_folder.rpartition("/")[2]
        name = os.path.basename(target)
        number = 1
        while True:
            place = f"{SUPERSEDED}/{lineage}-{number}"
            folder = self._target(place)
            kept = f"{folder}/{name}"
            if not os.path.lexists(kept):
                break
            if _has_content(kept, old):
                return
            number += 1
        self._make_parent(kept)
        self._write_kept(folder, name, old)

    def _write_kept(self, folder: str, name: str, content: bytes) -> None:
        temporary = f"{folder}/.{name}.{self.suffix}.tmp"
        remove_file(temporary)
        kept = f"{folder}/{name}"
        write_atomically(kept, content, mode=SHARED_FILE, temporary=temporary)

    def _reveal_document(self, result: str, kept: str) -> None:
        if result != self.document:
            self._retire_document(kept)
            return
        hidden = self._hidden(self.document)
        if not os.path.lexists(hidden):
            return
        target = self._target(self.document)
        if os.path.lexists(target):
            self._keep_old_document(kept)
        os.replace(hidden, target)

    def _kept_folders(self, superseded: str) -> list[str]:
        """Return where each folder is kept when it is replaced.

        The first has the plain name; to the others the name of their parent is added.
        """
        names = [superseded]
        for folder in self.folders[1:]:
            parent = folder.split("/")[-2]
            names.append(f"{superseded}-{parent}")
        return [self._target(f"{SUPERSEDED}/{name}") for name in names]

    def _check(self, artifacts: Artifacts) -> None:
        """Refuse names that lead elsewhere: the worker chose them."""
        given = len(artifacts.files)
        wanted = len(self.folders)
        if artifacts.amendment is not None and not given:
            wanted = 0
        if given != wanted:
            raise BadInput(
                f"the results have files for {given} folders, and the item has"
                f" {len(self.folders)}; run again"
            )
        if artifacts.document and not self.document:
            raise BadInput(
                "the results have a document, and the item has no place for one; run"
                " again"
            )
        folders = [*artifacts.files]
        if artifacts.amendment is not None:
            if not self.amended_folder:
                raise BadInput(
                    "the results amend a document, and the item is made from none; run"
                    " again"
                )
            folders.append(artifacts.amendment.files)
        for texts in folders:
            for name in texts:
                why = check_path(name)
                if "/" in name:
                    why = why or "is in a folder of its own"
                if why:
                    raise BadInput(
                        f"the results have a file {name[:80]!a}, which {why}; run again"
                    )

    def _prepare(self, artifacts: Artifacts) -> None:
        written = []
        folders = []
        pairs = zip(self.folders, artifacts.files, strict=False)
        filled = dict(pairs)
        documents = {self.document: artifacts.document}
        amendment = artifacts.amendment
        if amendment is not None:
            filled[self.amended_folder] = amendment.files
            documents[self.amended_document] = amendment.document
        for place, texts in filled.items():
            folder = self._hidden(place)
            self._make_parent(folder)
            os.mkdir(folder)
            parent = os.path.dirname(folder)
            folders += [folder, parent]
            for name, text in texts.items():
                path = _write(f"{folder}/{name}", text)
                written.append(path)
        for place, text in documents.items():
            if not text:
                continue
            document = self._hidden(place)
            self._make_parent(document)
            folder = os.path.dirname(document)
            folders.append(folder)
            path = _write(document, text)
            written.append(path)
        # Synced when all are written: the file system then commits them together, which
        # costs the coordinator less.
        for path in written:
            sync_file(path)
        for folder in folders:
            sync_directory(folder)

    def _target(self, path: str) -> str:
        return f"{self.repository}/{path}"

    def _hidden(self, path: str) -> str:
        folder, name = os.path.split(self._target(path))
        return f"{folder}/.{name}.{self.suffix}.tmp"

    def _retire_document(self, kept_folder: str) -> None:
        """Move away a document of ours that is no longer approved; one written by hand
        stays.
        """
        document = self._target(self.document)
        try:
            content = read_regular(document, DOCUMENT_LIMIT)
        except BadInput:
            return
        if os.path.islink(document):
            return
        if _PROVENANCE_START in content:
            name = os.path.basename(document)
            kept = f"{kept_folder}/{name}"
            self._make_parent(kept)
            os.rename(document, kept)

    def _keep_old_document(self, kept_folder: str) -> None:
        document = self._target(self.document)
        name = os.path.basename(document)
        kept = f"{kept_folder}/{name}"
        if os.path.lexists(kept):
            return
        self._make_parent(kept)
        try:
            old = read_regular(document, DOCUMENT_LIMIT)
        except BadInput:
            old = b""
        if os.path.islink(document) or not old:
            # A link is kept as a link, as its target may be private; what cannot be read
            # is moved as it is.
            os.rename(document, kept)
            return
        with open(self._hidden(self.document), "rb") as file:
            new = file.read()
        if old == new:
            return
        self._write_kept(kept_folder, name, old)

    def _make_parent(self, target: str) -> None:
        """Create the folder of a target, or raise `BadInput` if a link leads outside."""
        parent = os.path.dirname(target)
        actual = os.path.realpath(parent)
        # Without a link on the way it is below the repository as it is written.
        if actual != parent and not self._contains(actual):
            shown = os.path.relpath(parent, self.repository)
            raise BadInput(
                f"{shown}: leads outside the repository; remove the link and run again"
            )
        if not os.path.isdir(parent):
            os.makedirs(parent, exist_ok=True)

    def _contains(self, actual: str) -> bool:
        """Return whether a path without links is in the repository."""
        root = os.path.realpath(self.repository)
        return os.path.commonpath([root, actual]) == root


def _has_content(path: str, content: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    present = read_regular(path, DOCUMENT_LIMIT)
    return present == content


def _write(path: str, text: str) -> str:
    content = text.encode("utf-8", "surrogatepass")
    write_new(path, content, mode=SHARED_FILE, is_durable=False)
    return path
