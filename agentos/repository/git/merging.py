"""Merge commits without a worktree, and tell whether one contains another's changes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentos.repository.git.entries import join_entries, read_conflict
from agentos.repository.git.hardening import NOBODY
from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import identity_variables, tree_of
from agentos.repository.git.run import Git, GitError
from agentos.repository.git.scanning import SUBMODULE
from agentos.repository.git.storing import TreeEntry, list_tree

MERGED_AT = 0
"""Fixed time of merges that serve as a base, so that equal parents give equal commits.
"""
_MESSAGE = "Base of an item that builds on others\n"
_OUTPUT_LIMIT = 4_000_000
_FILE_LIMIT = 20_000_000
_MOST_FILES = 1_000
_MOST_COMMITS = 200
_MOST_PATHS = 100


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of merging two commits."""

    tree: str
    """The merged tree, empty if there are conflicts."""
    conflicts: tuple[str, ...] = ()
    """Paths of the files in conflict."""


def merge_trees(git: Git, base: str, tip: str, *, is_strict: bool = False) -> Merged:
    """Merge one commit into another without touching refs, index or files.

    Entries that both add to a change log at the same place are joined, those of the base
    first, unless `is_strict`.
    """
    printed = b""
    try:
        with git.start(
            "merge-tree",
            "--write-tree",
            "-z",
            "--allow-unrelated-histories",
            checked_commit(base),
            checked_commit(tip),
        ) as output:
            printed = output.read(_OUTPUT_LIMIT)
    except GitError as error:
        if error.code != 1 or not printed:
            raise
    else:
        return Merged(printed.partition(b"\0")[0].decode())
    conflict = read_conflict(printed)
    is_whole = len(printed) < _OUTPUT_LIMIT
    if is_whole and not is_strict:
        tree = join_entries(git, conflict)
        if tree:
            return Merged(tree)
    return Merged("", conflict.names[:_MOST_FILES])


def move_changes(
    git: Git,
    old: str,
    tip: str,
    new: str,
) -> tuple[str, Sequence[str]]:
    """Return a commit with the changes of a tip since an old commit on top of a new one;
    an empty one and the paths in conflict if they cannot be put there.
    """
    # Both get the old commit as their parent, whatever their history is.
    changed = tree_of(git, tip)
    theirs = commit_merge(git, changed, [old])
    present = tree_of(git, new)
    ours = commit_merge(git, present, [old])
    merged = merge_trees(git, ours, theirs)
    if not merged.tree:
        return "", merged.conflicts
    moved = commit_merge(git, merged.tree, [new])
    return moved, ()


def adds_nothing(git: Git, base: str, tip: str) -> bool:
    """Tell whether merging a tip would not change the base, because it has the changes
    already.
    """
    return merge_trees(git, base, tip).tree == tree_of(git, base)


def commit_merge(
    git: Git, tree: str, parents: Iterable[str], message: str = _MESSAGE
) -> str:
    """Return a merge commit that is on no branch."""
    identity = identity_variables(NOBODY, MERGED_AT)
    author = git.with_variables(**identity)
    options = []
    for parent in parents:
        options += ["-p", checked_commit(parent)]
    return author.line("commit-tree", tree, *options, data=message.encode())


def join(git: Git, base: str, tips: Sequence[str], message: str = _MESSAGE) -> str:
    """Return a commit with the files of the base and the history of the base and tips.

    With it git knows that the tips are merged, also if they were merged as other
    commits, and later merges do not conflict over them.
    """
    if not tips:
        return base
    return commit_merge(git, tree_of(git, base), (base, *tips), message)


def had_it_before(git: Git, head: str, tip: str, known: Sequence[str] = ()) -> bool:
    """Tell whether the head, or one of its commits since the fork, contained a tip.

    This recognizes a squashed or rebased branch whose files were edited after the
    merge. The commits in `known` count as merged into the head in the same way.
    """
    if adds_nothing(git, join(git, head, known), tip):
        return True
    for commit in _since(git, head, tip):
        joined = join(git, commit, known)
        if adds_nothing(git, joined, tip):
            return True
    return False


def is_evident(git: Git, head: str, tip: str) -> bool:
    """Tell whether a head that conflicts with a tip has merged it with changes.

    Every file that the tip changed must have changed in the head as well, and have at
    least half of the lines that the tip added there: two people who merely change the
    same file do not write the same lines.
    """
    fork = _fork(git, head, tip)
    if not fork:
        return False
    old = list_tree(git, fork)
    new = list_tree(git, tip)
    now = list_tree(git, head)
    for path in old.keys() | new.keys():
        before = old.get(path)
        after = new.get(path)
        if before == after:
            continue
        if not _has_most(git, before, after, now.get(path)):
            return False
    return True


def _has_most(
    git: Git, old: TreeEntry | None, new: TreeEntry | None, now: TreeEntry | None
) -> bool:
    if now == new:
        return True
    if now is None or new is None:
        return False
    if now == old:
        return False
    if SUBMODULE in (now.mode, new.mode):
        return False
    try:
        added = _lines(git, new) - _lines(git, old)
        present = added & _lines(git, now)
    except GitError:
        return False
    return present.total() * 2 >= added.total()


def _lines(git: Git, entry: TreeEntry | None) -> Counter[bytes]:
    if entry is None:
        return Counter()
    if entry.mode == SUBMODULE:
        return Counter()
    data = git.run("cat-file", "blob", entry.content, limit=_FILE_LIMIT)
    lines = Counter(map(bytes.strip, data.split(b"\n")))
    del lines[b""]
    return lines


def _since(git: Git, head: str, tip: str) -> Iterator[str]:
    """Yield the newest commits of the head that are not in the tip and change one of
    its files.
    """
    fork = _fork(git, head, tip)
    if not fork:
        return
    options = ("-r", "-z", "--no-renames", "--name-only")
    printed = git.run("diff-tree", *options, fork, tip)
    changed = printed.split(b"\0")[:-1]
    if not changed:
        return
    # A squashed merge changes all paths at once, so some are enough to find it.
    paths = map(os.fsdecode, changed[:_MOST_PATHS])
    literal = git.with_variables(GIT_LITERAL_PATHSPECS="1")
    commits = literal.run(
        "rev-list",
        "--first-parent",
        f"--max-count={_MOST_COMMITS}",
        checked_commit(head),
        f"^{tip}",
        "--",
        *paths,
    )
    yield from commits.decode("ascii").split()


def _fork(git: Git, head: str, tip: str) -> str:
    """Return the best common ancestor of two commits, empty if there is none."""
    commit = git.answers("merge-base", checked_commit(head), checked_commit(tip))
    return commit.decode("ascii").strip()
