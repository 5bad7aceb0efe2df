"""A worktree and a branch for one item: opened again as it was left, and never at the cost of what is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentos.files import make_private_directory, remove_tree
from agentos.worktrees.git import Git
from agentos.worktrees.names import REFS, checked_branch, checked_commit, checked_item
from agentos.worktrees.repository import Repository, find_repository, locked

STAGING = "staging"
REMOVED = "removed"
UNFILLED = "unfilled"


@dataclass(frozen=True, slots=True)
class Worktree:
    """Where an item is worked on; plain data that fits into a checkpoint."""

    repository: str
    folder: str
    item: str
    branch: str
    base: str

    def __post_init__(self) -> None:
        checked_item(self.item)
        checked_branch(self.branch)
        checked_commit(self.base)

    @property
    def path(self) -> Path:
        """The folder with the item's files."""
        return Path(self.folder)

    @property
    def branch_ref(self) -> str:
        """The whole name of the item's branch."""
        return f"refs/heads/{self.branch}"

    @property
    def refs(self) -> str:
        """Below which name all that was saved of the item is."""
        return f"{REFS}/{self.item}"

    def beside(self, purpose: str) -> Path:
        """Return a name next to the folder, for what belongs to it and must not be in it."""
        return self.path.with_name(f".{self.path.name}.{purpose}")

    def find(self) -> Repository:
        """Return the repository it belongs to."""
        return find_repository(Path(self.repository))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Worktree:
        """Read what `to_json` wrote."""
        return cls(**{name: str(data[name]) for name in ("repository", "folder", "item", "branch", "base")})


@contextmanager
def working_on(worktree: Worktree) -> Iterator[tuple[Git, Path]]:
    """Be the only one that changes a worktree; give git and a folder for what is being made.

    Git's children hold the lock too: who has it knows that whatever an earlier holder left behind is stale.
    """
    make_private_directory(worktree.path.parent)
    with locked(worktree.find().git(), worktree.beside("lock"), worktree.folder) as git:
        staging = worktree.beside(STAGING)
        clear_stale(git, worktree)
        staging.mkdir(mode=0o700)
        try:
            yield git, staging
        finally:
            remove_tree(staging)


def clear_stale(git: Git, worktree: Worktree) -> None:
    """Remove what a killed process of ours left: half-made files, removed worktrees, locks on the item's own refs."""
    remove_tree(worktree.beside(STAGING))
    remove_tree(worktree.beside(REMOVED))
    for lock in (git.git_dir / worktree.refs).glob("*.lock"):
        lock.unlink(missing_ok=True)
    with suppress(NotADirectoryError):
        (git.git_dir / f"{worktree.branch_ref}.lock").unlink(missing_ok=True)
