"""Remove worktrees and refs whose content is saved elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentos.repository.git.old_worktrees import retire_old_entry
from agentos.repository.git.opening import find_record
from agentos.repository.git.repository import (
    change_refs,
    find_repository,
    is_ancestor,
    read_ref,
    refs_below,
    resolve_commit,
)
from agentos.repository.git.run import WorktreeConflict
from agentos.repository.git.snapshots import (
    Snapshot,
    look_at,
    point_at,
    read_latest,
    save,
)
from agentos.repository.git.worktree import (
    MEMORY,
    Worktree,
    lock_worktree,
    remove_folder,
)
from agentos.state.files import remove_file, remove_tree

_CLOSED = "closed"


def remove_worktree(worktree: Worktree) -> Snapshot | None:
    """Save the worktree in its own repository and remove its folder; return None if that
    was already gone.

    Ignored files are saved as well, caches are not. If something cannot be saved, nothing
    is removed.
    """
    with lock_worktree(worktree) as (git, staging):
        if not worktree.path.exists():
            return None
        if not worktree.is_ours.exists():
            raise WorktreeConflict(
                f"{worktree.folder}: is not a worktree of {worktree.repository}; it is"
                " left as it is"
            )
        latest = read_latest(git, worktree)
        stored = look_at(git, worktree, latest, with_ignored=True)
        if stored.left_out:
            left = stored.left_out[0]
            path = left.path.decode("utf-8", "backslashreplace")
            raise WorktreeConflict(
                f"{worktree.folder}: {path!r}"
                f" cannot be saved ({left.reason}); move it away, then remove the"
                " worktree again"
            )
        snapshot = save(git, worktree, stored, _CLOSED, staging)
        point_at(git, worktree, snapshot.commit, latest)
        remove_folder(worktree)
        retire_old_entry(worktree.users_git(), worktree.path)
        return snapshot


def forget_merged(
    repository: Path, folder: Path, item: str, into: str = "HEAD"
) -> tuple[str, ...]:
    """Remove all that was saved of an item whose branch is merged and whose worktree is
    gone.

    Return the refs that are gone, none if the item is not merged or still in use.
    """
    git = find_repository(repository).git()
    worktree = find_record(repository, item)
    if worktree is None or folder.exists():
        return ()
    tip = read_ref(git, worktree.branch_ref)
    arguments = ("for-each-ref", "--format=%(worktreepath)", "--")
    is_in_use = bool(git.line(*arguments, worktree.branch_ref))
    if is_in_use or tip == worktree.base:
        return ()
    if not is_ancestor(git, tip, resolve_commit(git, into)):
        return ()
    kept = refs_below(git, f"{worktree.refs}/")
    worktree = replace(worktree, folder=str(folder))
    gone = set(kept)
    if worktree.store.exists():
        gone.update(refs_below(worktree.git(), f"{worktree.refs}/"))
        remove_tree(worktree.store)
    remove_file(worktree.beside(MEMORY))
    if not change_refs(git, *((ref, "", commit) for ref, commit in kept.items())):
        raise WorktreeConflict(
            "a snapshot was changed while it was to be removed; nothing was removed"
        )
    return tuple(sorted(gone))
