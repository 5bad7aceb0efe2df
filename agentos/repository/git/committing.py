"""Commit a snapshot to the item's branch, in the item's own repository."""

from __future__ import annotations

from agentos.repository.git.names import checked_commit
from agentos.repository.git.own_repository import show_copy
from agentos.repository.git.repository import (
    change_refs,
    identity_variables,
    read_identity,
    read_ref,
    tree_of,
)
from agentos.repository.git.run import Git, WorktreeConflict
from agentos.repository.git.snapshots import COMMITTED, bring_back, commit_tree
from agentos.repository.git.stacking import numbered_commits
from agentos.repository.git.worktree import Worktree, lock_worktree

_MESSAGE_LIMIT = 100_000


def commit_to_branch(worktree: Worktree, snapshot: str, message: str, when: int) -> str:
    """Return the new tip of the item's branch, a commit with exactly the snapshot's files.

    Its parent is the base or an earlier commit of ours. The files are left as after a
    commit. Repeating it, also after a kill, gives the same commit.
    """
    checked_commit(snapshot)
    with lock_worktree(worktree) as (git, staging):
        tip = _advance(git, worktree, snapshot, message, when)
        bring_back(git, worktree, snapshot, staging)
        show_copy(worktree, tip, staging)
        return tip


def _advance(
    git: Git, worktree: Worktree, snapshot: str, message: str, when: int
) -> str:
    tip = read_ref(git, worktree.branch_ref)
    tree = tree_of(git, snapshot)
    numbered = numbered_commits(git, worktree.item)
    ours = frozenset(numbered.values())
    if tip in ours and tree_of(git, tip) == tree:
        return tip
    identity = read_identity(worktree.find())
    author = git.with_variables(**identity_variables(identity, when))
    commit = commit_tree(author, tree, tip, _clean(message, worktree))
    changes = []
    if commit not in ours:
        number = max(numbered, default=0) + 1
        ref = f"{worktree.refs}/{COMMITTED}-{number}"
        changes.append((ref, commit, ""))
    changes.append((worktree.branch_ref, commit, tip))
    if not change_refs(author, *changes):
        raise WorktreeConflict(
            f"{worktree.store}: was changed by another process; start again"
        )
    return commit


def _clean(message: str, worktree: Worktree) -> str:
    text = message[:_MESSAGE_LIMIT].replace("\0", "").strip()
    return f"{text}\n" if text else f"Implement item {worktree.item}\n"
