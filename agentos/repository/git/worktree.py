"""The worktree of one item: its files, its branch, its own repository beside them, and
the lock on all of it.

Generated code may change everything in the folder, also the `.git` there. So that `.git`
is a copy for it alone: the repository that we use is beside the folder, where no sandbox
shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.repository.git.names import (
    REFS,
    checked_branch,
    checked_commit,
    checked_item,
)
from agentos.repository.git.repository import GitRepository, find_repository, locked
from agentos.repository.git.run import Git
from agentos.state.files import make_private_directory, remove_tree

OPENED = "opened"
STORE = "git"
MEMORY = "memory"
"""What an implementation that ended leaves for the next run, beside the folder."""
_STAGING = "staging"
_REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Worktree:
    """The worktree of an item; plain data."""

    repository: str
    """The user's repository, which is only read until the work is delivered."""
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
    def store(self) -> Path:
        """The item's own repository, which has its base and all its snapshots."""
        return self.beside(STORE)

    @property
    def branch_ref(self) -> str:
        """The full ref name of the item's branch."""
        return f"refs/heads/{self.branch}"

    @property
    def refs(self) -> str:
        """Prefix of all refs of the item."""
        return f"{REFS}/{self.item}"

    @property
    def record_ref(self) -> str:
        """The full ref name of the commit that records branch and base."""
        return f"{self.refs}/{OPENED}"

    @property
    def is_ours(self) -> Path:
        """Marker file: exists while the folder is one that we made."""
        return self.store / "has-folder"

    @property
    def unfilled(self) -> Path:
        """Marker file: exists until all files are in place, also after a kill."""
        return self.store / "unfilled"

    def beside(self, purpose: str) -> Path:
        """Return a path beside the folder, for files that belong to it and must not be
        in it.
        """
        return beside(self.path, purpose)

    def find(self) -> GitRepository:
        """Return the user's repository."""
        return find_repository(Path(self.repository))

    def users_git(self) -> Git:
        """Return git on the user's repository."""
        return self.find().git()

    def git(self) -> Git:
        """Return git on the item's own repository."""
        return Git(self.store, self.store)

    def git_with_users(self) -> Git:
        """Return git on the user's refs and history; new objects go to the item's own
        repository, whose objects it has too.
        """
        return self.users_git().writing_to(self.store / "objects")


def beside(folder: Path, purpose: str) -> Path:
    """Return a path beside the folder of an item."""
    return folder.with_name(f".{folder.name}.{purpose}")


@contextmanager
def lock_worktree(worktree: Worktree) -> Iterator[tuple[Git, Path]]:
    """Lock a worktree, and yield git and a folder for temporary files.

    Git's children hold the lock too: whoever has it knows that all temporary files of an
    earlier holder are stale.
    """
    make_private_directory(worktree.path.parent)
    with locked(worktree.git(), worktree.beside("lock"), worktree.folder) as git:
        staging = worktree.beside(_STAGING)
        _clear_stale(worktree)
        staging.mkdir(mode=0o700)
        try:
            yield git, staging
        finally:
            remove_tree(staging)


def remove_folder(worktree: Worktree) -> None:
    """Remove the item's files.

    The folder is renamed first, so a kill leaves it whole or already set aside.
    """
    removed = worktree.beside(_REMOVED)
    worktree.path.rename(removed)
    worktree.is_ours.unlink(missing_ok=True)
    remove_tree(removed)


def _clear_stale(worktree: Worktree) -> None:
    """Remove what a killed process left: temporary files, a removed folder, locks."""
    remove_tree(worktree.beside(_STAGING))
    remove_tree(worktree.beside(_REMOVED))
    for lock in (worktree.store / "refs").rglob("*.lock"):
        lock.unlink(missing_ok=True)
    for lock in worktree.store.glob("*.lock"):
        lock.unlink(missing_ok=True)
