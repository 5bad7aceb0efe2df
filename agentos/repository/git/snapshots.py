"""Save all files of a worktree under a ref of its own repository, and restore them byte for byte."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType

from agentos.errors import BadInput
from agentos.repository.git.names import checked_commit, checked_name, os_bytes, os_text
from agentos.repository.git.repository import change_refs, read_ref
from agentos.repository.git.run import Git, WorktreeConflict
from agentos.repository.git.scanning import SUBMODULE, TOO_LARGE, UNREADABLE
from agentos.repository.git.storing import Stored, id_of, list_tree, make_tree, store
from agentos.repository.git.worktree import OPENED, Worktree, lock_worktree
from agentos.repository.git.writing import remove_files, write_entries

LATEST = "latest"
COMMITTED = "committed"
SAVED = "saved"
_OWN_NAMES = (LATEST, OPENED, COMMITTED, SAVED)
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit with all files of a worktree, and its ref."""

    commit: str
    ref: str
    left_out: tuple[str, ...] = ()
    """What could not be saved, and why, one line each."""


@dataclass(frozen=True, slots=True)
class RefTarget:
    """A commit under one of our refs, and its tree."""

    commit: str
    tree: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of restoring a snapshot."""

    saved: Snapshot | None
    """Snapshot of the previous files, if they differed."""
    written: int
    removed: int


def take(
    worktree: Worktree,
    name: str,
    *,
    also: Iterable[str] = (),
    with_ignored: bool = False,
) -> Snapshot:
    """Save all files, tracked or not, without touching index, HEAD or branch.

    Ignored files are skipped, except those in `also` and those of an earlier snapshot;
    with `with_ignored` only caches are skipped. If the name has other content already,
    a number is added to it.
    """
    if name in _OWN_NAMES:
        raise BadInput(f"{name!r}: is kept for AgentOS; give the snapshot another name")
    checked_name(name)
    with lock_worktree(worktree) as (git, staging):
        latest = read_latest(git, worktree)
        stored = look_at(
            git, worktree, latest, also=map(os_bytes, also), with_ignored=with_ignored
        )
        snapshot = save(git, worktree, stored, name, staging)
        point_at(git, worktree, snapshot.commit, latest)
        return snapshot


def restore(
    worktree: Worktree,
    commit: str,
    *,
    with_ignored: bool = False,
    worthless: Mapping[str, str] | None = None,
) -> Restored:
    """Make the files those of a snapshot, after saving the present ones that differ.

    Ignored files stay, and so do files that no snapshot can hold; with `with_ignored`
    only caches stay. A file whose text is the one in `worthless` is not saved.
    """
    checked_commit(commit)
    with lock_worktree(worktree) as (git, staging):
        return bring_back(
            git,
            worktree,
            commit,
            staging,
            with_ignored=with_ignored,
            worthless=worthless or {},
        )


def bring_back(
    git: Git,
    worktree: Worktree,
    commit: str,
    staging: Path,
    *,
    with_ignored: bool = False,
    worthless: Mapping[str, str] = MappingProxyType({}),
) -> Restored:
    """Restore a snapshot while the lock is held.

    The order makes a kill harmless: files that differ are saved before the first is
    removed, and `latest` moves when all are written. Until then a repeated restore
    saves and writes what still differs. A submodule is written even if it is unchanged,
    because its empty folder may be missing.
    """
    wanted = list_tree(git, commit)
    latest = read_latest(git, worktree)
    present = look_at(git, worktree, latest, also=wanted, with_ignored=with_ignored)
    _check_saved(worktree, present, wanted)
    gone = [path for path in present.entries if path not in wanted]
    lost = list(gone)
    to_write = {}
    changed = 0
    for path, entry in wanted.items():
        if present.entries.get(path) != entry:
            changed += 1
            to_write[path] = entry
            if path in present.entries:
                lost.append(path)
        elif entry.mode == SUBMODULE:
            to_write[path] = entry
    spare = {}
    for name, text in worthless.items():
        spare[os_bytes(name)] = id_of(text.encode(), len(worktree.base))
    saved = None
    if any(present.entries[path].content != spare.get(path) for path in lost):
        saved = save(git, worktree, present, SAVED, staging, anywhere=True)
    remove_files(worktree.path, gone)
    write_entries(git, worktree.path, to_write, staging)
    point_at(git, worktree, commit, latest)
    return Restored(saved, changed, len(gone))


def read_latest(git: Git, worktree: Worktree) -> str:
    """Return the commit whose files the folder should have, empty if there is none."""
    return read_ref(git, f"{worktree.refs}/{LATEST}")


def look_at(
    git: Git,
    worktree: Worktree,
    latest: str,
    also: Iterable[bytes] = (),
    *,
    with_ignored: bool = False,
) -> Stored:
    """Store the present files as git objects, without a ref."""
    if worktree.path.is_symlink() or not worktree.path.is_dir():
        raise WorktreeConflict(
            f"{worktree.folder}: is gone, or no folder any more; start again to have it"
            " restored"
        )
    known = list_tree(git, worktree.base)
    if latest:
        known |= list_tree(git, latest)
    return store(
        git,
        worktree.path,
        known,
        also,
        id_length=len(worktree.base),
        with_ignored=with_ignored,
    )


def save(
    git: Git,
    worktree: Worktree,
    stored: Stored,
    name: str,
    staging: Path,
    *,
    anywhere: bool = False,
) -> Snapshot:
    """Commit stored files under a ref of this name, numbered if it has other content.

    With `anywhere` any ref of the item with the same files will do.
    """
    tree = make_tree(git, stored.entries, staging)
    left_out = tuple(f"{os_text(left.path)}: {left.reason}" for left in stored.left_out)
    commit = ""
    # Another process may take the ref between the look and the change.
    while True:
        kept = refs_of(git, worktree)
        if anywhere:
            for ref, other in kept.items():
                if other.tree == tree and not ref.endswith(f"/{LATEST}"):
                    return Snapshot(other.commit, ref, left_out)
        for ref in _names(worktree, name):
            if ref not in kept:
                break
            if kept[ref].tree == tree:
                return Snapshot(kept[ref].commit, ref, left_out)
        commit = commit or _commit(git, worktree, tree, name, left_out)
        if change_refs(git, (ref, commit, "")):
            return Snapshot(commit, ref, left_out)


def refs_of(git: Git, worktree: Worktree) -> dict[str, RefTarget]:
    """Return every ref of the item with its commit."""
    # The slash at the end keeps item 10 apart from item 106.
    prefix = f"{worktree.refs}/"
    arguments = ("for-each-ref", "--format=%(refname) %(objectname) %(tree)", "--")
    found = {}
    for line in git.run(*arguments, prefix).decode().split("\n")[:-1]:
        ref, commit, tree = line.split(" ")
        found[ref] = RefTarget(commit, tree)
    return found


def describe_item(worktree: Worktree) -> str:
    """Return the lines of a commit message that name its item."""
    return f"Item: {worktree.item}\nBranch: {worktree.branch}\nBase: {worktree.base}\n"


def commit_tree(git: Git, tree: str, parent: str, message: str) -> str:
    """Return a new commit that is on no branch."""
    return git.line(
        "commit-tree", tree, "-p", parent, data=message.encode("utf-8", "replace")
    )


def _commit(
    git: Git, worktree: Worktree, tree: str, name: str, left_out: tuple[str, ...]
) -> str:
    lines = []
    for line in left_out[:_MOST_NAMED]:
        shown = line.encode("utf-8", "backslashreplace").decode()
        lines.append(f"Left out: {shown!r}")
    more = len(left_out) - _MOST_NAMED
    if more > 0:
        lines.append(f"Left out: {more} more")
    message = f"Snapshot {name} of item {worktree.item}\n\n{describe_item(worktree)}"
    return commit_tree(git, tree, worktree.base, message + "\n".join(lines))


def point_at(git: Git, worktree: Worktree, commit: str, latest: str) -> None:
    """Record the commit whose files the folder should have, in case it vanishes."""
    ref = f"{worktree.refs}/{LATEST}"
    if latest != commit and not change_refs(git, (ref, commit, latest)):
        raise WorktreeConflict(f"{ref}: was changed by another process; start again")


def _check_saved(
    worktree: Worktree, present: Stored, wanted: Collection[bytes]
) -> None:
    """Raise if something that cannot be saved would be overwritten."""
    for left in present.left_out:
        is_unknown = left.path == b"." or left.reason.startswith(UNREADABLE)
        is_too_large = left.path in wanted and left.reason.startswith(TOO_LARGE)
        if is_unknown or is_too_large:
            raise WorktreeConflict(
                f"{worktree.folder}: {os_text(left.path)!r} {left.reason} and cannot"
                " be saved; nothing was restored"
            )


def _names(worktree: Worktree, name: str) -> Iterator[str]:
    """Yield the refs to try: the name, then numbered ones that no name can have."""
    yield f"{worktree.refs}/{name}"
    for number in count(2):
        yield f"{worktree.refs}/{name}.{number}"
