"""Store the files of a worktree as git objects, byte for byte: no filters, no index."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.repository.git.names import checked_commit
from agentos.repository.git.run import Git, GitError
from agentos.repository.git.scanning import (
    LINK,
    SUBMODULE,
    UNREADABLE,
    Found,
    KeptPaths,
    LeftOut,
    open_file,
    open_folder,
    open_root,
    scan,
)

_BATCH = 100
_CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of a tree: its mode in git's notation, and the id of its content."""

    mode: str
    content: str


Listing = Mapping[bytes, TreeEntry]


@dataclass(frozen=True, slots=True)
class Stored:
    """The files of a worktree as git objects, and the paths that could not be stored."""

    entries: Listing
    left_out: tuple[LeftOut, ...]


def list_tree(git: Git, commit: str) -> dict[bytes, TreeEntry]:
    """Return all files, links and submodules of a commit."""
    entries = {}
    arguments = ("ls-tree", "-r", "-z", "--full-tree", checked_commit(commit))
    for line in git.recall(*arguments).split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, content = facts.decode().split(" ")
        entries[path] = TreeEntry(mode, content)
    return entries


def store(
    git: Git,
    folder: Path,
    known: Listing,
    also: Iterable[bytes],
    *,
    id_length: int,
    with_ignored: bool = False,
) -> Stored:
    """Store every file to keep, except content that a `known` entry has.

    A known file is kept even if it is ignored by now. A known submodule stays one while
    its folder is empty.
    """
    without_index = git.on(folder).with_variables(GIT_INDEX_FILE=os.devnull + "/none")
    kept = KeptPaths([*known, *also])
    scanned = scan(without_index, folder, kept, with_ignored=with_ignored)
    left_out = list(scanned.left_out)
    contents = {entry.content for entry in known.values()}
    entries: dict[bytes, TreeEntry] = {}
    with open_root(folder) as root:
        for start in range(0, len(scanned.files), _BATCH):
            batch = scanned.files[start : start + _BATCH]
            entries |= _store_batch(git, root, batch, contents, left_out, id_length)
    filled = set(entries)
    for path in entries:
        filled.update(_folders_of(path))
    for path, entry in known.items():
        if entry.mode == SUBMODULE and path not in filled:
            entries[path] = entry
    return Stored(entries, tuple(left_out))


def make_tree(git: Git, entries: Listing, staging: Path) -> str:
    """Return the id of a tree with these entries, made in an index of its own."""
    index = git.with_variables(GIT_INDEX_FILE=str(staging / "index"))
    lines = []
    for path, entry in entries.items():
        facts = f"{entry.mode} {entry.content}\t"
        lines.append(facts.encode() + path + b"\0")
    index.run("update-index", "--add", "-z", "--index-info", data=b"".join(lines))
    return index.line("write-tree")


@contextmanager
def open_blobs(
    git: Git, contents: Iterable[str]
) -> Iterator[Iterator[Iterator[bytes]]]:
    """Yield the bytes of each content in parts; each must be read before the next."""
    wanted = list(contents)
    data = "".join(f"{content}\n" for content in wanted).encode()
    with git.start("cat-file", "--batch", data=data) as output:

        def parts(size: int) -> Iterator[bytes]:
            while size:
                part = output.read(min(size, _CHUNK))
                if not part:
                    raise GitError(
                        f"{git.git_dir}: a file of the snapshot cannot be read to its"
                        " end; run git fsck"
                    )
                size -= len(part)
                yield part
            output.read(1)

        def blobs() -> Iterator[Iterator[bytes]]:
            for content in wanted:
                facts = output.readline(1_000).decode("ascii", "replace").split()
                if len(facts) != 3 or facts[0] != content or facts[1] != "blob":
                    raise GitError(
                        f"{git.git_dir}: lacks content {content[:12]}; fetch all of a"
                        " partial clone, else run git fsck"
                    )
                yield parts(int(facts[2]))

        yield blobs()


def _store_batch(
    git: Git,
    root: int,
    batch: Iterable[Found],
    contents: set[str],
    left_out: list[LeftOut],
    id_length: int,
) -> dict[bytes, TreeEntry]:
    """Store some files; git reads them from descriptors, so that no name can be
    swapped.
    """
    entries: dict[bytes, TreeEntry] = {}
    new: list[Found] = []
    descriptors: list[int] = []
    with ExitStack() as opened:
        for found in batch:
            try:
                descriptor = opened.enter_context(_open_content(root, found))
            except FileNotFoundError:
                # It vanished since the scan.
                continue
            except OSError as error:
                reason = f"{UNREADABLE} ({error.strerror})"
                left_out.append(LeftOut(found.path, reason))
                continue
            content = _digest(descriptor, id_length)
            if content in contents:
                entries[found.path] = TreeEntry(found.mode, content)
            else:
                new.append(found)
                descriptors.append(descriptor)
        ids = []
        if new:
            ids = _write_blobs(git, descriptors)
    for found, content in zip(new, ids, strict=True):
        entries[found.path] = TreeEntry(found.mode, content)
        contents.add(content)
    return entries


def _write_blobs(git: Git, descriptors: Sequence[int]) -> list[str]:
    names = "".join(f"/dev/fd/{descriptor}\n" for descriptor in descriptors)
    ids = git.run(
        "hash-object",
        "-w",
        "-t",
        "blob",
        "--no-filters",
        "--stdin-paths",
        data=names.encode(),
        descriptors=descriptors,
    )
    return ids.decode().split()


@contextmanager
def _open_content(root: int, found: Found) -> Iterator[int]:
    folder, _, name = found.path.rpartition(b"/")
    with open_folder(root, folder) as parent:
        if found.mode == LINK:
            target = os.readlink(name, dir_fd=parent)
        else:
            descriptor = open_file(parent, name)
    if found.mode == LINK:
        with tempfile.TemporaryFile() as file:
            file.write(target)
            file.flush()
            yield file.fileno()
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def id_of(data: bytes, id_length: int) -> str:
    """Return git's id of a content."""
    digest = _begin_digest(len(data), id_length)
    digest.update(data)
    return digest.hexdigest()


def _begin_digest(size: int, id_length: int) -> hashlib._Hash:
    digest = hashlib.sha256()
    if id_length == 40:
        digest = hashlib.sha1(usedforsecurity=False)
    digest.update(f"blob {size}\0".encode())
    return digest


def _digest(descriptor: int, id_length: int) -> str:
    """Return git's id of a file's content, empty if the file is being changed."""
    size = os.fstat(descriptor).st_size
    digest = _begin_digest(size, id_length)
    read = 0
    while True:
        part = os.pread(descriptor, _CHUNK, read)
        if not part:
            break
        read += len(part)
        digest.update(part)
    if read != size:
        return ""
    return digest.hexdigest()


def _folders_of(path: bytes) -> Iterator[bytes]:
    folder = path.rpartition(b"/")[0]
    while folder:
        yield folder
        folder = folder.rpartition(b"/")[0]
