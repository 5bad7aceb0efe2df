"""Merge commits in a store of objects beside the repository's: not even a loose object is left in the repository."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.worktrees.git import Git
from agentos.worktrees.hardening import NOBODY
from agentos.worktrees.merging import MERGED_AT, merge_trees
from agentos.worktrees.names import checked_commit
from agentos.worktrees.repository import identity_variables, tree_of


@dataclass(frozen=True, slots=True)
class Joined:
    """Items that were merged one after the other, up to the first that cannot be."""

    commit: str
    item: str = ""
    """The one that conflicts; empty when all were merged."""
    files: tuple[str, ...] = ()
    """Where it conflicts."""

    @property
    def is_whole(self) -> bool:
        """Whether there was no conflict."""
        return not self.item


def set_apart(git: Git, objects: Path) -> Git:
    """Return git that reads the repository's objects and writes its own to a folder of ours."""
    (objects / "info").mkdir(parents=True)
    store = str(git.git_dir / "objects")
    quoted = store.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    (objects / "info" / "alternates").write_bytes(os.fsencode(f'"{quoted}"\n'))
    return git.with_variables(GIT_OBJECT_DIRECTORY=str(objects), **identity_variables(NOBODY, MERGED_AT))


class Merges:
    """Merges of items into a target; what was merged once is remembered."""

    def __init__(self, git: Git, target: str, commits: Mapping[str, str]) -> None:
        self.git = git
        self.target = checked_commit(target)
        self._commits = commits
        self._known: dict[tuple[str, ...], Joined] = {(): Joined(target)}

    def join(self, items: Sequence[str]) -> Joined:
        """Merge these items in this order."""
        row = tuple(items)
        start = next(length for length in range(len(row), -1, -1) if row[:length] in self._known)
        joined = self._known[row[:start]]
        for end in range(start, len(row)):
            if not joined.is_whole:
                break
            joined = self._merge(joined.commit, row[end])
            self._known[row[: end + 1]] = joined
        return joined

    def tree(self, joined: Joined) -> str:
        """Return the id of the files that a merge gave."""
        return tree_of(self.git, joined.commit)

    def adds_nothing(self, item: str) -> bool:
        """Tell whether the target has all that an item would bring, also when it came there as other commits."""
        joined = self.join([item])
        return joined.is_whole and self.tree(joined) == tree_of(self.git, self.target)

    def _merge(self, base: str, item: str) -> Joined:
        tip = checked_commit(self._commits[item])
        merged = merge_trees(self.git, base, tip)
        if not merged.tree:
            return Joined(base, item, merged.conflicts)
        message = f"Rehearse the merge of item {item}\n".encode()
        return Joined(self.git.line("commit-tree", merged.tree, "-p", base, "-p", tip, data=message))
