"""Put the files of a worktree into git's store byte for byte: no filter, no line ends, no index of the worktree."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.worktrees.git import Git, GitError
from agentos.worktrees.names import checked_commit
from agentos.worktrees.scanning import (
    LINK,
    SUBMODULE,
    UNREADABLE,
    Found,
    Kept,
    LeftOut,
    open_file,
    open_folder,
    open_root,
    scan,
)

_BATCH = 100
_CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree: its mode as git writes it, and the id of its content."""

    mode: str
    content: str


Listing = Mapping[bytes, Entry]


@dataclass(frozen=True, slots=True)
class Stored:
    """The files of a worktree as they are in the store."""

    entries: Listing
    left_out: tuple[LeftOut, ...]


def list_tree(git: Git, commit: str) -> dict[bytes, Entry]:
    """Return all files, links and submodules of a commit."""
    entries = {}
    for line in git.recall("ls-tree", "-r", "-z", "--full-tree", checked_commit(commit)).split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, content = facts.decode().split(" ")
        entries[path] = Entry(mode, content)
    return entries


def store(
    git: Git, folder: Path, known: Listing, also: Iterable[bytes], *, id_length: int, with_ignored: bool = False
) -> Stored:
    """Put every file to keep into the store; content of a `known` entry is there already.

    A known file is kept although it is ignored by now. A known submodule stays one while its folder is empty.
    """
    quiet = git.on(folder).with_variables(GIT_INDEX_FILE=os.devnull + "/none")
    looked = scan(quiet, folder, Kept([*known, *also]), with_ignored=with_ignored)
    left_out = list(looked.left_out)
    contents = {entry.content for entry in known.values()}
    entries: dict[bytes, Entry] = {}
    with open_root(folder) as root:
        for start in range(0, len(looked.files), _BATCH):
            batch = looked.files[start : start + _BATCH]
            entries |= _store_batch(git, root, batch, contents, left_out, id_length)
    filled = {path for name in entries for path in _folders_of(name)}
    entries |= {
        path: entry
        for path, entry in known.items()
        if entry.mode == SUBMODULE and path not in filled and path not in entries
    }
    return Stored(entries, tuple(left_out))


def make_tree(git: Git, entries: Listing, staging: Path) -> str:
    """Return the id of a tree with these entries, made in an index that is nobody else's."""
    index = git.with_variables(GIT_INDEX_FILE=str(staging / "index"))
    lines = (f"{entry.mode} {entry.content}\t".encode() + path + b"\0" for path, entry in entries.items())
    index.run("update-index", "--add", "-z", "--index-info", data=b"".join(lines))
    return index.line("write-tree")


@contextmanager
def open_blobs(git: Git, contents: Iterable[str]) -> Iterator[Iterator[Iterator[bytes]]]:
    """Give the bytes of each content in turn, in parts; each has to be read to its end before the next."""
    wanted = list(contents)
    data = "".join(f"{content}\n" for content in wanted).encode()
    with git.start("cat-file", "--batch", data=data) as output:

        def parts(size: int) -> Iterator[bytes]:
            while size:
                part = output.read(min(size, _CHUNK))
                if not part:
                    raise GitError(f"{git.git_dir}: a file of the snapshot cannot be read to its end; run git fsck")
                size -= len(part)
                yield part
            output.read(1)

        def blobs() -> Iterator[Iterator[bytes]]:
            for content in wanted:
                facts = output.readline(1_000).decode("ascii", "replace").split()
                if len(facts) != 3 or facts[0] != content or facts[1] != "blob":
                    raise GitError(
                        f"{git.git_dir}: lacks content {content[:12]}; fetch all of a partial clone, else run git fsck"
                    )
                yield parts(int(facts[2]))

        yield blobs()


def _store_batch(
    git: Git, root: int, batch: Iterable[Found], contents: set[str], left_out: list[LeftOut], id_length: int
) -> dict[bytes, Entry]:
    """Store up to a batch of files; git reads them from descriptors, so that no name can change its meaning."""
    entries: dict[bytes, Entry] = {}
    new: list[tuple[Found, int]] = []
    with ExitStack() as opened:
        for found in batch:
            try:
                descriptor = opened.enter_context(_open_content(root, found))
            except OSError as error:
                # What vanished while it was looked at is not there; everything else is worth a word.
                if not isinstance(error, FileNotFoundError):
                    left_out.append(LeftOut(found.path, f"{UNREADABLE} ({error.strerror})"))
                continue
            content = _digest(descriptor, id_length)
            if content in contents:
                entries[found.path] = Entry(found.mode, content)
            else:
                new.append((found, descriptor))
        if new:
            names = "".join(f"/dev/fd/{descriptor}\n" for _, descriptor in new).encode()
            arguments = ("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin-paths")
            ids = git.run(*arguments, data=names, descriptors=[descriptor for _, descriptor in new]).decode().split()
            for (found, _), content in zip(new, ids, strict=True):
                entries[found.path] = Entry(found.mode, content)
                contents.add(content)
    return entries


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
    """Return the id that git gives to a content."""
    digest = _begin_digest(len(data), id_length)
    digest.update(data)
    return digest.hexdigest()


def _begin_digest(size: int, id_length: int) -> hashlib._Hash:
    digest = hashlib.sha1(usedforsecurity=False) if id_length == 40 else hashlib.sha256()
    digest.update(f"blob {size}\0".encode())
    return digest


def _digest(descriptor: int, id_length: int) -> str:
    """Return the id that git gives to a file's content, or nothing that it ever gives if the file is changing."""
    size = os.fstat(descriptor).st_size
    digest = _begin_digest(size, id_length)
    read = 0
    while part := os.pread(descriptor, _CHUNK, read):
        read += len(part)
        digest.update(part)
    return digest.hexdigest() if read == size else ""


def _folders_of(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path
