"""Find the commit that an item builds on: the head, merged with finished work of
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from agentos.repository.git.merging import (
    Merged,
    adds_nothing,
    commit_merge,
    had_it_before,
    is_evident,
    join,
    merge_trees,
)
from agentos.repository.git.names import REFS, checked_item
from agentos.repository.git.repository import (
    is_ancestor,
    refs_below,
    resolve_commit,
)
from agentos.repository.git.run import Git, WorktreeConflict
from agentos.repository.git.snapshots import COMMITTED

_MOST_NAMED = 3
_COMMITS_LIMIT = 64_000_000


def find_base(
    git: Git, items: Iterable[str], say: Callable[[str], None] | None = None
) -> str:
    """Return the head, merged with the finished work of items that it does not contain.

    The work of several items is merged into a commit that is on no branch. Work that
    the user has merged, in whatever way, counts as it is in the head; `say` is called
    if it differs from what was built.
    """
    head = resolve_commit(git)
    tips = {}
    for item in items:
        tip = latest_commit(git, item)
        if tip and not is_ancestor(git, tip, head):
            tips[tip] = item
    if not tips:
        return head
    merged = _find_merged(git, head, tips, say)
    outermost = _outermost(git, list(tips))
    left = [tip for tip in outermost if tip not in merged]
    # Git does not know that these are merged. Once they are in the head's history, a
    # tip that contains one does not conflict over it again.
    known = [tip for tip in merged if _is_in_any(git, tip, left)]
    start = join(git, head, known)
    base = start
    for number, tip in enumerate(left):
        joined = _merge(git, base, tip)
        if not joined:
            reason = _explain(git, start, tip, left[:number], tips)
            raise WorktreeConflict(reason)
        base = joined
    return base


def _find_merged(
    git: Git, head: str, tips: Mapping[str, str], say: Callable[[str], None] | None
) -> list[str]:
    """Return the tips that the user has merged."""
    merged: list[str] = []
    for tip in _oldest_first(git, head, tips):
        if not is_taken_up(git, head, tip, merged):
            continue
        if say and not adds_nothing(git, join(git, head, merged), tip):
            say(
                f"item {tips[tip]} is in the head already and was changed there;"
                " this one builds on it as it is"
            )
        merged.append(tip)
    return merged


def _is_in_any(git: Git, tip: str, others: Iterable[str]) -> bool:
    return any(is_ancestor(git, tip, other) for other in others)


def is_taken_up(git: Git, head: str, tip: str, known: Sequence[str] = ()) -> bool:
    """Tell whether the user has merged a finished item, possibly as other commits and changed.

    `known` are commits that are already known to be merged.
    """
    if had_it_before(git, head, tip, known):
        return True
    joined = join(git, head, known)
    # Entries that could be joined may be the same ones in other words.
    if merge_trees(git, joined, tip, is_strict=True).tree:
        return False
    return is_evident(git, joined, tip)


def latest_commit(git: Git, item: str) -> str:
    """Return the latest commit on an item's branch, empty if there is none."""
    numbered = numbered_commits(git, item)
    if not numbered:
        return ""
    return numbered[max(numbered)]


def numbered_commits(git: Git, item: str) -> Mapping[int, str]:
    """Return all commits that were put on an item's branch, by number."""
    prefix = f"{REFS}/{checked_item(item)}/{COMMITTED}-"
    commits = {}
    for ref, commit in refs_below(git, f"{REFS}/{item}/").items():
        if not ref.startswith(prefix):
            continue
        number = ref.removeprefix(prefix)
        if number.isdigit():
            commits[int(number)] = commit
    return commits


def _oldest_first(git: Git, head: str, tips: Iterable[str]) -> list[str]:
    """Sort the tips so that each comes after those that it contains."""
    wanted = set(tips)
    listed = git.run(
        "rev-list",
        "--topo-order",
        "--reverse",
        *wanted,
        f"^{head}",
        limit=_COMMITS_LIMIT,
    )
    commits = listed.decode("ascii").split()
    return [commit for commit in commits if commit in wanted]


def _outermost(git: Git, tips: Sequence[str]) -> list[str]:
    """Leave out the tips that another tip contains."""
    printed = git.run("merge-base", "--independent", *tips)
    outer = set(printed.decode("ascii").split())
    return [tip for tip in tips if tip in outer]


def _merge(git: Git, base: str, tip: str) -> str:
    """Return a commit that contains both, empty if they conflict."""
    if is_ancestor(git, base, tip):
        return tip
    tree = merge_trees(git, base, tip).tree
    if not tree:
        return ""
    return commit_merge(git, tree, (base, tip))


def _explain(
    git: Git, start: str, tip: str, before: Sequence[str], items: Mapping[str, str]
) -> str:
    """Say what an item conflicts with: the head, or which other items."""
    item = items[tip]
    short = tip[:12]
    alone = merge_trees(git, start, tip)
    if not alone.tree:
        return (
            f"item {item}, on which this one builds, conflicts with the"
            f" head{_in(alone)}; merge it by hand (git merge {short}, or git merge"
            f" -s ours {short} if the head has all of it) and start again"
        )
    for other in before:
        pair = merge_trees(git, other, tip)
        if not pair.tree:
            return (
                f"items {items[other]} and {item}, on which this one builds, conflict"
                f" with each other{_in(pair)}; merge both by hand (git merge"
                f" {other[:12]}, then git merge {short}) and start again"
            )
    others = ", ".join(items[other] for other in before)
    return (
        f"item {item}, on which this one builds, conflicts with what items {others}"
        f" make together; merge them by hand (git merge {short} last) and start"
        " again"
    )


def _in(merged: Merged) -> str:
    conflicts = merged.conflicts
    if not conflicts:
        return ""
    named = ", ".join(conflicts[:_MOST_NAMED])
    more = len(conflicts) - _MOST_NAMED
    if more > 0:
        named += f" and {more} more"
    return f" in {named}"
