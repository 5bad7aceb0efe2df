"""Record which files a repository has when an item begins, and what is in them.

A snapshot is small, so that it can be kept with an item: the commit that was checked
out, and the files that differ from it. The text of those is kept too, up to a limit,
because git cannot give it back after another change.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.git.repository import find_repository, resolve_commit
from agentos.repository.git.run import Git, GitError
from agentos.repository.git.storing import list_tree
from agentos.repository.look.exclusion import is_left_out
from agentos.repository.look.listing import list_files
from agentos.repository.look.opening import FileData, FileRefused, read_file
from agentos.repository.look.texts import read_text

NO_GIT = (BadInput, GitError, OSError)
"""What is raised for a folder without a usable repository."""
_HASHES = {40: "sha1", 64: "sha256"}
"""How git may hash, by the length of its ids."""
_KEPT_CHARACTERS = 200_000
_FILE_MODES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file as it was."""

    path: str
    size: int = 0
    content: str = ""
    """The id that git gives to this content; of a large file, to its beginning."""
    text: str | None = None
    """Its text without secrets, None if git has it or it is too long to be kept."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files that may be shown; `agentos.plain_data` converts it to JSON."""

    head: str
    """The commit that was checked out, empty without git or commits."""
    hashing: str
    own_documents: tuple[str, ...]
    """Files and folders of the item itself, which it is not shown."""
    changed: tuple[FileRecord, ...]
    """The files that are not as in the commit."""
    missing: tuple[str, ...]
    """The files of the commit that were not there, or not as ordinary files."""
    last: str = ""
    """The last file that was listed, if there were too many."""


def snapshot_of_commit(commit: str) -> Snapshot:
    """Return the snapshot in which the files are as in a commit."""
    return Snapshot(commit, _HASHES[len(commit)], (), (), ())


@dataclass(frozen=True, slots=True)
class Commit:
    """The files of a commit that may be shown, with the ids of their content."""

    files: Mapping[str, str]
    others: Mapping[str, str]
    """What is no file, and what it is."""


def record_snapshot(repository: Path, own_documents: Collection[str] = ()) -> Snapshot:
    """Record the files that git tracks or does not ignore; without git, those of a
    bounded walk.
    """
    own = _sorted(path.strip("/") for path in own_documents)
    head, hashing = _find_head(repository)
    listing = list_files(repository)
    last = ""
    if listing.is_cut:
        last = listing.names[-1]
    empty = Snapshot(head, hashing, own, (), (), last)
    committed = _files_of_commit(repository, empty)
    changed = []
    missing = set(committed)
    room = _KEPT_CHARACTERS
    for name in listing.names:
        if not is_shown(name, own):
            continue
        try:
            data = read_file(repository, name)
        except FileRefused:
            continue
        missing.discard(name)
        content = content_id(data, hashing)
        if content == committed.get(name):
            continue
        record = _keep(name, data, content, room)
        changed.append(record)
        if record.text is not None:
            room -= len(record.text)
    return Snapshot(
        head,
        hashing,
        own,
        tuple(changed),
        _sorted(missing),
        last,
    )


def _files_of_commit(repository: Path, snapshot: Snapshot) -> Mapping[str, str]:
    if not snapshot.head:
        return {}
    found = find_repository(repository)
    commit = read_commit(found.git(), found.prefix, snapshot)
    return commit.files


def read_commit(git: Git, prefix: str, snapshot: Snapshot) -> Commit:
    """Return the files of a snapshot's commit below a folder."""
    files: dict[str, str] = {}
    others: dict[str, str] = {}
    for data, entry in list_tree(git, snapshot.head).items():
        path = os.fsdecode(data)
        if not path.startswith(prefix):
            continue
        name = path.removeprefix(prefix)
        if not is_shown(name, snapshot.own_documents):
            continue
        if snapshot.last and name > snapshot.last:
            continue
        if entry.mode in _FILE_MODES:
            files[name] = entry.content
        elif entry.mode == "120000":
            others[name] = "a link"
        else:
            others[name] = "a submodule"
    return Commit(files, others)


def content_id(data: FileData, hashing: str) -> str:
    """Return the id that git gives to this content."""
    digest = hashlib.new(hashing, usedforsecurity=False)
    digest.update(b"blob %d\0" % data.size)
    digest.update(data.data)
    return digest.hexdigest()


def is_shown(name: str, own_documents: Collection[str]) -> bool:
    """Tell whether a file may be shown, by its name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        # Such a name cannot be written as JSON, nor into a prompt.
        return False
    if is_left_out(name) or is_copy(name):
        return False
    return not is_own(name, own_documents)


def is_copy(name: str) -> bool:
    """Tell whether a file repeats others, as the metadata of a package does."""
    parts = name.split("/")
    if parts[-1] == "PKG-INFO":
        return True
    return any(part.endswith(".egg-info") for part in parts)


def is_own(name: str, own_documents: Collection[str]) -> bool:
    """Tell whether a file belongs to the item itself."""
    path = f"{name}/"
    return any(path.startswith(f"{own}/") for own in own_documents)


def _find_head(repository: Path) -> tuple[str, str]:
    """Return the commit that is checked out, and how git hashes."""
    hashing = "sha1"
    try:
        found = find_repository(repository)
        if found.object_format not in _HASHES.values():
            return "", hashing
        hashing = found.object_format
        git = found.git()
        return resolve_commit(git), hashing
    except NO_GIT:
        return "", hashing


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _keep(name: str, data: FileData, content: str, room: int) -> FileRecord:
    bare = FileRecord(name, data.size, content)
    try:
        text = read_text(name, data)
    except FileRefused:
        return bare
    if len(text.source) > room:
        return bare
    return FileRecord(
        name,
        data.size,
        content,
        text.source,
        text.notes,
    )
