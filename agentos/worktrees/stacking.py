"""Find the commit that an item builds on: the repository's head, with the finished work of others on top of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from agentos.worktrees.git import Git, WorktreeConflict
from agentos.worktrees.merging import Merged, adds_nothing, commit_merge, had_it_before, is_evident, join, merge_trees
from agentos.worktrees.names import REFS, checked_item
from agentos.worktrees.repository import find_repository, is_ancestor, resolve_commit
from agentos.worktrees.snapshots import COMMITTED

_MOST_NAMED = 3
_COMMITS_LIMIT = 64_000_000


def find_base(repository: Path, items: Iterable[str], say: Callable[[str], None] | None = None) -> str:
    """Return the head, or the finished work of the given items where the head has not got it yet.

    Work of several is merged into a commit of nobody's branch; that it can be is what the plan is for. What the user
    has merged in whatever way counts as it is in the head, and `say` is told where it differs from what was built.
    """
    git = find_repository(repository).git()
    head = resolve_commit(git)
    tips = {tip: item for item in items if (tip := latest_commit(git, item)) and not is_ancestor(git, tip, head)}
    if not tips:
        return head
    taken: list[str] = []
    for tip in _oldest_first(git, head, tips):
        if is_taken_up(git, head, tip, taken):
            if say and not adds_nothing(git, join(git, head, taken), tip):
                say(f"item {tips[tip]} is in the head already and was changed there; this one builds on it as it is")
            taken.append(tip)
    left = [tip for tip in _outermost(git, list(tips)) if tip not in taken]
    known = [tip for tip in taken if any(is_ancestor(git, tip, other) for other in left)]
    base = start = join(git, head, known)
    for number, tip in enumerate(left):
        merged = _merge(git, base, tip)
        if not merged:
            raise WorktreeConflict(_explain(git, start, tip, left[:number], tips))
        base = merged
    return base


def is_taken_up(git: Git, head: str, tip: str, known: Sequence[str] = ()) -> bool:
    """Tell whether the user has merged a finished item, be it as other commits and with changes.

    `known` are commits of which that is settled already.
    """
    if had_it_before(git, head, tip, known):
        return True
    joined = join(git, head, known)
    return not merge_trees(git, joined, tip).tree and is_evident(git, joined, tip)


def latest_commit(git: Git, item: str) -> str:
    """Return what was last put on an item's branch, empty when nothing was."""
    numbered = numbered_commits(git, item)
    return numbered[max(numbered)] if numbered else ""


def numbered_commits(git: Git, item: str) -> Mapping[int, str]:
    """Return all that was ever put on an item's branch."""
    prefix = f"{REFS}/{checked_item(item)}/{COMMITTED}-"
    lines = git.run("for-each-ref", "--format=%(refname) %(objectname)", "--", f"{REFS}/{item}/").decode().split("\n")
    return {
        int(ref.removeprefix(prefix)): commit
        for ref, _, commit in (line.partition(" ") for line in lines if line)
        if ref.startswith(prefix) and ref.removeprefix(prefix).isdigit()
    }


def _oldest_first(git: Git, head: str, tips: Iterable[str]) -> list[str]:
    """Put those before the others that they are contained in."""
    wanted = set(tips)
    listed = git.run("rev-list", "--topo-order", "--reverse", *wanted, f"^{head}", limit=_COMMITS_LIMIT)
    return [commit for commit in listed.decode("ascii").split() if commit in wanted]


def _outermost(git: Git, tips: Sequence[str]) -> list[str]:
    """Leave out those that another one contains."""
    outer = set(git.run("merge-base", "--independent", *tips).decode("ascii").split())
    return [tip for tip in tips if tip in outer]


def _merge(git: Git, base: str, tip: str) -> str:
    """Return a commit that has both in it, empty when they conflict."""
    if is_ancestor(git, base, tip):
        return tip
    tree = merge_trees(git, base, tip).tree
    return commit_merge(git, tree, (base, tip)) if tree else ""


def _explain(git: Git, start: str, tip: str, before: Sequence[str], items: Mapping[str, str]) -> str:
    """Say what an item conflicts with that cannot be merged: the head, or which of the others."""
    item = items[tip]
    alone = merge_trees(git, start, tip)
    if not alone.tree:
        return (
            f"item {item}, on which this one builds, conflicts with the head{_in(alone)}; merge it by hand "
            f"(git merge {tip[:12]}, or git merge -s ours {tip[:12]} if the head has all of it) and start again"
        )
    for other in before:
        pair = merge_trees(git, other, tip)
        if not pair.tree:
            return (
                f"items {items[other]} and {item}, on which this one builds, conflict with each other{_in(pair)}; "
                f"merge both by hand (git merge {other[:12]}, then git merge {tip[:12]}) and start again"
            )
    others = ", ".join(items[other] for other in before)
    return (
        f"item {item}, on which this one builds, conflicts with what items {others} make together; "
        f"merge them by hand (git merge {tip[:12]} last) and start again"
    )


def _in(merged: Merged) -> str:
    more = len(merged.conflicts) - _MOST_NAMED
    named = ", ".join(merged.conflicts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f" in {named}" if named else ""
