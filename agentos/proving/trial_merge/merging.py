"""Merge commits in an object store of its own, so that not even a loose object is left
in the repository.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentos.proving.trial_merge.candidates import Items
from agentos.repository.git.hardening import NOBODY
from agentos.repository.git.merging import MERGED_AT, merge_trees
from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import identity_variables, tree_of
from agentos.repository.git.run import Git


@dataclass(frozen=True, slots=True)
class Joined:
    """The result of merging items one after another, up to the first conflict."""

    commit: str
    item: str = ""
    """The item that conflicts; empty if all were merged."""
    files: tuple[str, ...] = ()
    """The files that conflict."""

    @property
    def is_whole(self) -> bool:
        """Whether there was no conflict."""
        return not self.item


def set_apart(git: Git, objects: Path) -> Git:
    """Return a git that reads the repository's objects and writes new ones to another
    folder.
    """
    objects.mkdir(parents=True)
    apart = git.writing_to(objects)
    return apart.with_variables(**identity_variables(NOBODY, MERGED_AT))


@dataclass(slots=True)
class Merges:
    """Merges of items into a target; each sequence is merged once."""

    git: Git
    target: str
    commits: Mapping[str, str]
    _known: dict[Items, Joined] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.target = checked_commit(self.target)

    def join(self, items: Sequence[str]) -> Joined:
        """Merge these items in this order."""
        joined = Joined(self.target)
        merged: Items = ()
        for item in items:
            merged = (*merged, item)
            known = self._known.get(merged)
            if known is None:
                known = self._merge(joined.commit, item)
                self._known[merged] = known
            joined = known
            if not joined.is_whole:
                break
        return joined

    def tree(self, joined: Joined) -> str:
        """Return the tree id of a merge."""
        return tree_of(self.git, joined.commit)

    def adds_nothing(self, item: str) -> bool:
        """Return whether the target contains the changes of an item, even as other
        commits.
        """
        joined = self.join([item])
        if not joined.is_whole:
            return False
        merged_tree = self.tree(joined)
        target_tree = tree_of(self.git, self.target)
        return merged_tree == target_tree

    def _merge(self, base: str, item: str) -> Joined:
        recorded = self.commits[item]
        tip = checked_commit(recorded)
        merged = merge_trees(self.git, base, tip)
        if not merged.tree:
            return Joined(base, item, merged.conflicts)
        message = f"Merge item {item} on trial\n"
        commit = self.git.line(
            "commit-tree", merged.tree, "-p", base, "-p", tip, data=message.encode()
        )
        return Joined(commit)
