"""Find the commit that an item builds on: the repository's head, with the finished work of others on top of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from agentos.worktrees.git import Git, GitError, WorktreeConflict
from agentos.worktrees.hardening import NOBODY
from agentos.worktrees.names import REFS, checked_item
from agentos.worktrees.repository import find_repository, identity_variables, is_ancestor, resolve_commit
from agentos.worktrees.snapshots import COMMITTED

MERGED_AT = 0
"""The time of a merge that only serves as a base: the same parents give the same commit."""


def find_base(repository: Path, items: Iterable[str]) -> str:
    """Return the head, or the finished work of the given items where the head has not got it yet.

    Work of several is merged into a commit of nobody's branch; that it can be is what the plan is for.
    """
    git = find_repository(repository).git()
    base = resolve_commit(git)
    tips = [tip for item in items if (tip := latest_commit(git, item)) and not is_ancestor(git, tip, base)]
    for tip in _outermost(git, list(dict.fromkeys(tips))):
        base = _merge(git, base, tip)
    return base


def latest_commit(git: Git, item: str) -> str:
    """Return what was last put on an item's branch, empty when nothing was."""
    prefix = f"{REFS}/{checked_item(item)}/{COMMITTED}-"
    lines = git.run("for-each-ref", "--format=%(refname) %(objectname)", "--", f"{REFS}/{item}/").decode().split("\n")
    numbered = [
        (int(ref.removeprefix(prefix)), commit)
        for ref, _, commit in (line.partition(" ") for line in lines if line)
        if ref.startswith(prefix) and ref.removeprefix(prefix).isdigit()
    ]
    return max(numbered)[1] if numbered else ""


def _outermost(git: Git, tips: list[str]) -> list[str]:
    """Leave out those that another one contains."""
    return [tip for tip in tips if not any(other != tip and is_ancestor(git, tip, other) for other in tips)]


def _merge(git: Git, base: str, tip: str) -> str:
    if is_ancestor(git, base, tip):
        return tip
    try:
        tree = git.run("merge-tree", "--write-tree", base, tip).decode().split("\n")[0]
    except GitError as error:
        raise WorktreeConflict(
            f"{tip[:12]} cannot be merged into {base[:12]}, on which this item has to build; merge them by hand"
        ) from error
    ours = git.with_variables(**identity_variables(NOBODY, MERGED_AT))
    return ours.line("commit-tree", tree, "-p", base, "-p", tip, data=b"Base of an item that builds on others\n")
