"""Merge commits without a worktree, and tell whether a commit has what another one would bring."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentos.worktrees.git import Git, GitError
from agentos.worktrees.hardening import NOBODY
from agentos.worktrees.names import checked_commit, os_text
from agentos.worktrees.repository import identity_variables, tree_of
from agentos.worktrees.scanning import SUBMODULE
from agentos.worktrees.storing import Entry, list_tree

MERGED_AT = 0
"""The time of a merge that only serves as a base: the same parents give the same commit."""
_MESSAGE = "Base of an item that builds on others\n"
_OUTPUT_LIMIT = 4_000_000
_FILE_LIMIT = 20_000_000
_MOST_FILES = 1_000
_MOST_COMMITS = 200
_MOST_PATHS = 100


@dataclass(frozen=True, slots=True)
class Merged:
    """What merging two commits gives."""

    tree: str
    """The files, empty when there are conflicts."""
    conflicts: tuple[str, ...] = ()
    """Where they are."""


def merge_trees(git: Git, base: str, tip: str) -> Merged:
    """Merge one commit into another; no ref, no index and no file is touched."""
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
    printed = b""
    try:
        with git.start(*arguments, checked_commit(base), checked_commit(tip)) as output:
            printed = output.read(_OUTPUT_LIMIT)
    except GitError as error:
        if error.code != 1 or not printed:
            raise
        names = dict.fromkeys(name for name in printed.split(b"\0")[1:] if name)
        return Merged("", tuple(os_text(name) for name in names)[:_MOST_FILES])
    return Merged(printed.partition(b"\0")[0].decode())


def adds_nothing(git: Git, base: str, tip: str) -> bool:
    """Tell whether a commit has all that another one would bring, also when it came there as other commits."""
    return merge_trees(git, base, tip).tree == tree_of(git, base)


def commit_merge(git: Git, tree: str, parents: Iterable[str], message: str = _MESSAGE) -> str:
    """Return a commit of nobody's branch that joins others."""
    ours = git.with_variables(**identity_variables(NOBODY, MERGED_AT))
    options = [word for parent in parents for word in ("-p", checked_commit(parent))]
    return ours.line("commit-tree", tree, *options, data=message.encode())


def join(git: Git, base: str, tips: Sequence[str], message: str = _MESSAGE) -> str:
    """Return a commit with exactly the files of a base that has these other commits in its history too.

    So git learns what was merged as other commits, and does not stumble over it when more is merged.
    """
    return commit_merge(git, tree_of(git, base), (base, *tips), message) if tips else base


def had_it_before(git: Git, head: str, tip: str, known: Sequence[str] = ()) -> bool:
    """Tell whether the head, or a commit on its way since, had all that a tip brings: what differs now came later.

    That is how a squashed or rebased branch is recognised whose files were edited after the merge. The commits in
    `known` are taken as merged into the head in the same manner.
    """
    if adds_nothing(git, join(git, head, known), tip):
        return True
    return any(adds_nothing(git, join(git, commit, known), tip) for commit in _since(git, head, tip))


def is_evident(git: Git, head: str, tip: str) -> bool:
    """Tell whether a head that conflicts with a tip has evidently taken it up, changed in the same moment.

    Every file that the tip changed must have been changed in the head as well, and have at least half of the lines
    that the tip brought there: two people who merely change the same file do not write the same lines.
    """
    fork = _fork(git, head, tip)
    if not fork:
        return False
    old, new, now = (list_tree(git, commit) for commit in (fork, tip, head))
    paths = [path for path in old.keys() | new.keys() if old.get(path) != new.get(path)]
    return all(_has_most(git, old.get(path), new.get(path), now.get(path)) for path in paths)


def _has_most(git: Git, old: Entry | None, new: Entry | None, now: Entry | None) -> bool:
    if now == new or now is None or new is None:
        return now == new
    if now == old or SUBMODULE in (now.mode, new.mode):
        return False
    try:
        brought = _lines(git, new) - _lines(git, old)
        return (brought & _lines(git, now)).total() * 2 >= brought.total()
    except GitError:
        return False


def _lines(git: Git, entry: Entry | None) -> Counter[bytes]:
    if entry is None or entry.mode == SUBMODULE:
        return Counter()
    lines = (line.strip() for line in git.run("cat-file", "blob", entry.content, limit=_FILE_LIMIT).split(b"\n"))
    return Counter(line for line in lines if line)


def _since(git: Git, head: str, tip: str) -> Iterator[str]:
    """Return the newest commits of the head that the tip has not got and that change a file which the tip changes."""
    fork = _fork(git, head, tip)
    if not fork:
        return
    changed = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", fork, tip).split(b"\0")[:-1]
    # A merge that was squashed changes all of them at once: some are enough to find it.
    paths = [os.fsdecode(path) for path in changed[:_MOST_PATHS]]
    literal = git.with_variables(GIT_LITERAL_PATHSPECS="1")
    arguments = ("rev-list", "--first-parent", f"--max-count={_MOST_COMMITS}", checked_commit(head), f"^{tip}")
    yield from literal.run(*arguments, "--", *paths).decode("ascii").split() if paths else ()


def _fork(git: Git, head: str, tip: str) -> str:
    """Return the last commit that two have in common, empty when there is none."""
    return git.answers("merge-base", checked_commit(head), checked_commit(tip)).decode("ascii").strip()
