"""Record which files a repository has when an item begins, and what is in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.context.exclusion import is_left_out
from agentos.repository.context.listing import list_files
from agentos.repository.git.repository import find_repository, resolve_commit
from agentos.repository.git.run import GitError
from agentos.repository.look.opening import READ_LIMIT, FileRefused, Opened, open_files

_HASHED_BYTES = 500_000_000
_WHOLE_ID = {"sha1": 40, "sha256": 64}


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file as it was: its content is the id that git gives to it, empty if it was
    too large.
    """

    path: str
    size: int
    content: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files that may be shown, sorted; plain data for a checkpoint."""

    head: str
    """The commit that was checked out, empty without git."""
    hashing: str
    files: tuple[FileRecord, ...]
    is_cut: bool = False


def take_snapshot(root: Path) -> Snapshot:
    """Record the files that git tracks or does not ignore; without git, those of a
    bounded walk.
    """
    head, hashing = _find_head(root)
    listing = list_files(root)
    names = filter(_is_shown, listing.names)
    with open_files(root) as files:
        records = tuple(_record(files, names, hashing))
    return Snapshot(head, hashing, records, listing.is_cut)


def content_id(data: bytes, hashing: str) -> str:
    """Return the id that git gives to a file with this content."""
    digest = hashlib.new(hashing, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def _find_head(root: Path) -> tuple[str, str]:
    try:
        repository = find_repository(root)
    except (BadInput, GitError, OSError):
        return "", "sha1"
    hashing = repository.object_format
    if hashing not in _WHOLE_ID:
        return "", "sha1"
    try:
        return resolve_commit(repository.git()), hashing
    except (BadInput, GitError, OSError):
        return "", hashing


def _is_shown(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        # Such a name cannot be written into a checkpoint.
        return False
    return not is_left_out(name) and not is_copy(name)


def is_copy(name: str) -> bool:
    """Tell whether a file repeats what others say, as the metadata of a package does."""
    folders, _, base = name.rpartition("/")
    if base == "PKG-INFO":
        return True
    return any(part.endswith(".egg-info") for part in name.split("/"))


def _record(files: Opened, names: Iterator[str], hashing: str) -> Iterator[FileRecord]:
    left = _HASHED_BYTES
    for name in names:
        try:
            found = files.read(name)
        except (FileRefused, OSError):
            continue
        content = ""
        is_whole = found.size <= READ_LIMIT
        if is_whole and left > 0:
            content = content_id(found.data, hashing)
            left -= found.size
        yield FileRecord(name, found.size, content)
