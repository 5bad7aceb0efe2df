"""Save everything in a worktree on a ref of its own, and bring it back byte for byte."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType

from agentos.errors import BadInput
from agentos.worktrees.git import Git, WorktreeConflict
from agentos.worktrees.names import checked_commit, checked_name, os_bytes, os_text
from agentos.worktrees.repository import change_refs, read_ref
from agentos.worktrees.scanning import SUBMODULE, TOO_LARGE, UNREADABLE
from agentos.worktrees.storing import Stored, id_of, list_tree, make_tree, store
from agentos.worktrees.worktree import Worktree, working_on
from agentos.worktrees.writing import remove_files, write_entries

LATEST = "latest"
OPENED = "opened"
COMMITTED = "committed"
SAVED = "saved"
_OWN_NAMES = (LATEST, OPENED, COMMITTED, SAVED)
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit that holds all files of a worktree, and the ref that keeps it."""

    commit: str
    ref: str
    left_out: tuple[str, ...] = ()
    """What could not be saved, and why, one line each."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A commit that a ref of ours keeps, and its tree."""

    commit: str
    tree: str


@dataclass(frozen=True, slots=True)
class Restored:
    """What bringing a snapshot back did."""

    saved: Snapshot | None
    """Where that is which was there before and differed, None when nothing was in danger."""
    written: int
    removed: int


def take(worktree: Worktree, name: str, *, also: Iterable[str] = (), with_ignored: bool = False) -> Snapshot:
    """Save all files, tracked or not, without touching index, HEAD or branch.

    What git ignores is passed over, except the files in `also` and those that an earlier snapshot has; with
    `with_ignored` only caches are. A name that is taken by other content is numbered: nothing is overwritten.
    """
    if name in _OWN_NAMES:
        raise BadInput(f"{name!r}: is kept for AgentOS; give the snapshot another name")
    checked_name(name)
    with working_on(worktree) as (git, staging):
        latest = read_latest(git, worktree)
        stored = look_at(git, worktree, latest, also=map(os_bytes, also), with_ignored=with_ignored)
        snapshot = save(git, worktree, stored, name, staging)
        point_at(git, worktree, snapshot.commit, latest)
        return snapshot


def restore(
    worktree: Worktree, commit: str, *, with_ignored: bool = False, worthless: Mapping[str, str] | None = None
) -> Restored:
    """Make the files exactly those of a snapshot; what is there and differs is saved first.

    What no snapshot can hold, or what git ignores, stays where it is; with `with_ignored` only caches do. A file with
    just the text that `worthless` has for its path need not be saved.
    """
    checked_commit(commit)
    with working_on(worktree) as (git, staging):
        return bring_back(git, worktree, commit, staging, with_ignored=with_ignored, worthless=worthless or {})


def bring_back(
    git: Git,
    worktree: Worktree,
    commit: str,
    staging: Path,
    *,
    with_ignored: bool = False,
    worthless: Mapping[str, str] = MappingProxyType({}),
) -> Restored:
    """Restore under a lock that is held already."""
    wanted = list_tree(git, commit)
    latest = read_latest(git, worktree)
    present = look_at(git, worktree, latest, also=wanted, with_ignored=with_ignored)
    _check_saved(worktree, present, wanted)
    changed = {path: entry for path, entry in wanted.items() if present.entries.get(path) != entry}
    gone = [path for path in present.entries if path not in wanted]
    spare = {os_bytes(path): id_of(text.encode(), len(worktree.base)) for path, text in worthless.items()}
    endangered = [*gone, *(path for path in changed if path in present.entries)]
    saved = None
    if any(present.entries[path].content != spare.get(path) for path in endangered):
        saved = save(git, worktree, present, SAVED, staging, anywhere=True)
    remove_files(worktree.path, gone)
    submodules = {path: entry for path, entry in wanted.items() if entry.mode == SUBMODULE}
    write_entries(git, worktree.path, changed | submodules, staging)
    point_at(git, worktree, commit, latest)
    return Restored(saved, len(changed), len(gone))


def read_latest(git: Git, worktree: Worktree) -> str:
    """Return which state the folder was last to be in, empty when it has not been in any."""
    return read_ref(git, f"{worktree.refs}/{LATEST}")


def look_at(
    git: Git, worktree: Worktree, latest: str, also: Iterable[bytes] = (), *, with_ignored: bool = False
) -> Stored:
    """Put the files as they are into the store; no ref has them yet."""
    if worktree.path.is_symlink() or not worktree.path.is_dir():
        raise WorktreeConflict(f"{worktree.folder}: is gone, or no folder any more; start again to have it restored")
    known = list_tree(git, worktree.base)
    if latest:
        known |= list_tree(git, latest)
    return store(git, worktree.path, known, also, id_length=len(worktree.base), with_ignored=with_ignored)


def save(git: Git, worktree: Worktree, stored: Stored, name: str, staging: Path, *, anywhere: bool = False) -> Snapshot:
    """Put what is in the store on a ref of that name, or on a numbered one if other content has the name.

    With `anywhere` every ref of the item that has the same files will do.
    """
    tree = make_tree(git, stored.entries, staging)
    left_out = tuple(f"{os_text(thing.path)}: {thing.reason}" for thing in stored.left_out)
    commit = ""
    while True:
        kept = refs_of(git, worktree)
        for ref, other in kept.items() if anywhere else ():
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


def refs_of(git: Git, worktree: Worktree) -> dict[str, Kept]:
    """Return every ref of the item; the slash at the end keeps item 10 apart from item 106."""
    arguments = ("for-each-ref", "--format=%(refname) %(objectname) %(tree)", "--", f"{worktree.refs}/")
    found = (line.split(" ") for line in git.run(*arguments).decode().split("\n") if line)
    return {ref: Kept(commit, tree) for ref, commit, tree in found}


def describe_item(worktree: Worktree) -> str:
    """Return the lines in a commit's message that tell whose it is."""
    return f"Item: {worktree.item}\nBranch: {worktree.branch}\nBase: {worktree.base}\n"


def commit_tree(git: Git, tree: str, parent: str, message: str) -> str:
    """Return a new commit of nobody's branch."""
    return git.line("commit-tree", tree, "-p", parent, data=message.encode("utf-8", "replace"))


def _commit(git: Git, worktree: Worktree, tree: str, name: str, left_out: tuple[str, ...]) -> str:
    lines = [f"Left out: {line.encode('utf-8', 'backslashreplace').decode()!r}" for line in left_out[:_MOST_NAMED]]
    more = [f"Left out: {len(left_out) - _MOST_NAMED} more"] if len(left_out) > _MOST_NAMED else []
    message = f"Snapshot {name} of item {worktree.item}\n\n{describe_item(worktree)}" + "\n".join([*lines, *more])
    return commit_tree(git, tree, worktree.base, message)


def point_at(git: Git, worktree: Worktree, commit: str, latest: str) -> None:
    """Remember which state the folder is to be in, for when it vanishes."""
    ref = f"{worktree.refs}/{LATEST}"
    if latest != commit and not change_refs(git, (ref, commit, latest)):
        raise WorktreeConflict(f"{ref}: was changed by another process; start again")


def _check_saved(worktree: Worktree, present: Stored, wanted: Collection[bytes]) -> None:
    """Refuse to go on where something would be overwritten that no snapshot could hold."""
    for thing in present.left_out:
        is_unknown = thing.path == b"." or thing.reason.startswith(UNREADABLE)
        if is_unknown or (thing.path in wanted and thing.reason.startswith(TOO_LARGE)):
            raise WorktreeConflict(
                f"{worktree.folder}: {os_text(thing.path)!r} {thing.reason} and cannot be saved; nothing was restored"
            )


def _names(worktree: Worktree, name: str) -> Iterator[str]:
    """Return the refs to try: the name itself, then numbered ones in a form that no given name has."""
    yield f"{worktree.refs}/{name}"
    for number in count(2):
        yield f"{worktree.refs}/{name}.{number}"
