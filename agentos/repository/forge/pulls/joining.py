"""Join the entries of change logs on an item's branch with those of the branch to merge
into.

A forge sees a conflict as soon as another item's entry is there. A merge of both, made
here and pushed to the item's branch, resolves it. The branch in the clone stays as it is.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agentos.documents.change_logs import is_change_log
from agentos.errors import BadInput
from agentos.repository.git.merging import merge_trees
from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import (
    GitRepository,
    identity_variables,
    is_ancestor,
    read_identity,
)
from agentos.repository.git.run import Git


def find_change_logs(git: Git, base: str, tip: str) -> tuple[str, ...]:
    """Return the change logs that differ between two commits."""
    printed = git.run(
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--name-only",
        checked_commit(base),
        checked_commit(tip),
    )
    paths = printed.split(b"\0")[:-1]
    names = map(os.fsdecode, paths)
    logs = filter(is_change_log, names)
    return tuple(logs)


def has_commit(git: Git, commit: str) -> bool:
    """Tell whether a commit that a forge named is here."""
    try:
        return git.succeeds("cat-file", "-e", checked_commit(commit))
    except BadInput:
        return False


def contains(git: Git, commit: str, work: str) -> bool:
    """Tell whether a commit that a forge named is known to have the work in it."""
    if commit == work:
        return True
    return has_commit(git, commit) and is_ancestor(git, work, commit)


def needs_joining(clone: GitRepository, tip: str, target: str) -> bool:
    """Tell whether two commits conflict in added entries of change logs alone; nothing
    is left in the clone.
    """
    with tempfile.TemporaryDirectory(prefix="agentos-join-") as folder:
        objects = Path(folder) / "objects"
        objects.mkdir()
        git = clone.git()
        apart = git.writing_to(objects)
        tree = _join(apart, tip, target)
        return bool(tree)


def join_with(clone: GitRepository, tip: str, target: str, message: str) -> str:
    """Return a commit on top of both in which the entries are joined, empty if that is
    not needed or not possible.

    The same two commits give the same one at any time. No ref names it.
    """
    git = clone.git()
    tree = _join(git, tip, target)
    if not tree:
        return ""
    when = git.line("show", "--no-patch", "--format=%ct", checked_commit(target))
    identity = read_identity(clone)
    variables = identity_variables(identity, int(when))
    author = git.with_variables(**variables)
    return author.line(
        "commit-tree",
        tree,
        "-p",
        checked_commit(tip),
        "-p",
        checked_commit(target),
        data=message.encode(),
    )


def _join(git: Git, tip: str, target: str) -> str:
    """Return the tree of the merge if joined entries are all that it needs."""
    if is_ancestor(git, target, tip):
        return ""
    plain = merge_trees(git, target, tip, is_strict=True)
    if plain.tree:
        return ""
    joined = merge_trees(git, target, tip)
    return joined.tree
