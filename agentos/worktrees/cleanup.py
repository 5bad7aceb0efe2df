"""Remove worktrees and refs, and only those whose content is safe elsewhere."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from agentos.files import remove_tree
from agentos.worktrees.git import Git, WorktreeConflict
from agentos.worktrees.names import checked_item
from agentos.worktrees.opening import read_record
from agentos.worktrees.registration import find_entry, lock_reason
from agentos.worktrees.repository import (
    LOCK_FILE,
    change_refs,
    find_repository,
    is_ancestor,
    locked,
    read_ref,
    resolve_commit,
    tree_of,
)
from agentos.worktrees.snapshots import Snapshot, look_at, point_at, read_latest, refs_of, save
from agentos.worktrees.worktree import REMOVED, Worktree, working_on

_CLOSED = "closed"
_STAGED = "staged"


def remove_worktree(worktree: Worktree) -> Snapshot | None:
    """Remove the folder after all in it was saved to a ref; return that, None when the folder was gone already.

    Ignored files are saved too, only caches go. What cannot be saved is a reason not to remove anything.
    """
    found = worktree.find()
    with (
        locked(found.git(), found.git_dir / LOCK_FILE, worktree.repository) as held,
        working_on(worktree) as (inner, staging),
    ):
        git = inner.holding(*held.held)
        entry = find_entry(git, worktree.path)
        if entry is not None and (reason := lock_reason(entry)) is not None:
            raise WorktreeConflict(f"{worktree.folder}: is locked ({reason}); run git worktree unlock there first")
        if not worktree.path.exists():
            _unregister(git, worktree, entry)
            return None
        if entry is None:
            raise WorktreeConflict(
                f"{worktree.folder}: is not a worktree of {worktree.repository}; it is left as it is"
            )
        latest = read_latest(git, worktree)
        stored = look_at(git, worktree, latest, with_ignored=True)
        if stored.left_out:
            thing = stored.left_out[0]
            raise WorktreeConflict(
                f"{worktree.folder}: {thing.path.decode('utf-8', 'backslashreplace')!r} cannot be saved "
                f"({thing.reason}); move it away, then remove the worktree again"
            )
        _save_staged(git, worktree, entry)
        snapshot = save(git, worktree, stored, _CLOSED, staging)
        point_at(git, worktree, snapshot.commit, latest)
        worktree.path.rename(worktree.beside(REMOVED))
        remove_tree(worktree.beside(REMOVED))
        _unregister(git, worktree, entry)
        return snapshot


def forget(repository: Path, item: str, names: Collection[str]) -> tuple[str, ...]:
    """Remove snapshots that the user asked to be rid of, by their exact names; return the refs that are gone."""
    git = find_repository(repository).git()
    prefix = f"refs/agentos/{checked_item(item)}/"
    refs = [(f"{prefix}{name}", read_ref(git, f"{prefix}{name}")) for name in dict.fromkeys(names)]
    return _remove_refs(git, [(ref, commit) for ref, commit in refs if commit])


def forget_merged(repository: Path, item: str, into: str = "HEAD") -> tuple[str, ...]:
    """Remove everything saved of an item whose branch is merged and whose worktree is gone; return the refs.

    While one of the two is not so, nothing is removed.
    """
    found = find_repository(repository)
    git = found.git()
    worktree = read_record(git, str(found.path), str(found.git_dir / "none"), item)
    if worktree is None:
        return ()
    tip = read_ref(git, worktree.branch_ref)
    is_in_use = bool(git.line("for-each-ref", "--format=%(worktreepath)", "--", worktree.branch_ref))
    if is_in_use or tip == worktree.base or not is_ancestor(git, tip, resolve_commit(git, into)):
        return ()
    return _remove_refs(git, [(ref, kept.commit) for ref, kept in refs_of(git, worktree).items()])


def _remove_refs(git: Git, refs: Collection[tuple[str, str]]) -> tuple[str, ...]:
    if refs and not change_refs(git, *((ref, "", commit) for ref, commit in refs)):
        raise WorktreeConflict("a snapshot was changed while it was to be removed; nothing was removed")
    return tuple(ref for ref, _ in refs)


def _save_staged(git: Git, worktree: Worktree, entry: Path) -> None:
    """Keep what was staged, and a commit that no branch has: neither is in the files."""
    inside = git.at(entry, worktree.path)
    head = inside.answers("rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
    parent = head or worktree.base
    tree = inside.line("write-tree") if (entry / "index").exists() else tree_of(git, parent)
    if head and tree == tree_of(git, parent) and head == read_ref(git, worktree.branch_ref):
        return
    commit = inside.line("commit-tree", tree, "-p", parent, data=f"Staged in item {worktree.item}\n".encode())
    refs = refs_of(git, worktree)
    if any(kept.tree == tree for ref, kept in refs.items() if f"/{_STAGED}-" in ref):
        return
    number = 1
    while not change_refs(git, (f"{worktree.refs}/{_STAGED}-{number}", commit, "")):
        number += 1


def _unregister(git: Git, worktree: Worktree, entry: Path | None) -> None:
    """Have git forget a folder that is not there any more; it does so without force."""
    if entry is not None:
        git.run("worktree", "remove", "--", str(worktree.path))
