"""Put a snapshot on the item's branch as one commit."""

from __future__ import annotations

from agentos.worktrees.git import Git, WorktreeConflict
from agentos.worktrees.names import checked_commit
from agentos.worktrees.registration import clear_index_lock, find_entry
from agentos.worktrees.repository import change_refs, identity_variables, read_identity, read_ref, tree_of
from agentos.worktrees.snapshots import COMMITTED, bring_back, commit_tree
from agentos.worktrees.stacking import numbered_commits
from agentos.worktrees.worktree import Worktree, working_on

_MESSAGE_LIMIT = 100_000


def commit_to_branch(worktree: Worktree, snapshot: str, message: str, when: int) -> str:
    """Return the commit that now is the tip of the item's branch and has exactly the snapshot's files.

    It stands on the base, or on an earlier commit of ours; a branch that somebody else moved is refused. Index and
    files are left as after a commit. Doing it again, also after a kill, gives the same.
    """
    checked_commit(snapshot)
    with working_on(worktree) as (git, staging):
        tip = _advance(git, worktree, snapshot, message, when)
        bring_back(git, worktree, snapshot, staging)
        entry = find_entry(git, worktree.path)
        if entry is None:
            raise WorktreeConflict(f"{worktree.folder}: git knows it as a worktree no more; start again to mend it")
        clear_index_lock(entry, worktree.path)
        git.at(entry, worktree.path).run("read-tree", tip)
        return tip


def _advance(git: Git, worktree: Worktree, snapshot: str, message: str, when: int) -> str:
    tip = read_ref(git, worktree.branch_ref)
    tree = tree_of(git, snapshot)
    numbered = numbered_commits(git, worktree.item)
    ours = frozenset(numbered.values())
    if tip != worktree.base and tip not in ours:
        state = "is gone" if not tip else "has commits that AgentOS did not make"
        raise WorktreeConflict(f"{worktree.branch}: {state}; the work is kept as {snapshot[:12]}, see agentos salvage")
    if tip in ours and tree_of(git, tip) == tree:
        return tip
    author = git.with_variables(**identity_variables(read_identity(worktree.find()), when))
    commit = commit_tree(author, tree, tip, _clean(message, worktree))
    note = (f"{worktree.refs}/{COMMITTED}-{max(numbered, default=0) + 1}", commit, "")
    advance = (worktree.branch_ref, commit, tip)
    if change_refs(author, advance) if commit in ours else change_refs(author, note, advance):
        return commit
    raise WorktreeConflict(f"{worktree.branch}: was moved by somebody else meanwhile; start again")


def _clean(message: str, worktree: Worktree) -> str:
    text = message[:_MESSAGE_LIMIT].replace("\0", "").strip()
    return f"{text or f'Implement item {worktree.item}'}\n"
