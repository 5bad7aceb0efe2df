"""Repositories to work on, made with plain git as a user would, and a look at what is
in a folder.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentos.repository.git.committing import commit_to_branch
from agentos.repository.git.delivery import deliver, make_bundle
from agentos.repository.git.names import branch_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.worktree import Worktree

FILES: Mapping[str, bytes] = {
    "README.md": b"# Shelf\n",
    "shelf/book.py": b"def title():\n    return 'x'\n",
    "run.sh": b"#!/bin/sh\n",
    ".gitignore": b"*.pyc\n/build/\n",
}

Content = dict[bytes, tuple[str, bytes]]


def git(
    folder: Path, *arguments: str, home: Path | None = None, check: bool = True
) -> str:
    """Run git as a user with an empty home would."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home or folder.parent / "no-home"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A User",
        "GIT_AUTHOR_EMAIL": "user@example.org",
        "GIT_COMMITTER_NAME": "A User",
        "GIT_COMMITTER_EMAIL": "user@example.org",
    }
    finished = subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, capture_output=True, check=False
    )
    assert not check or finished.returncode == 0, finished.stderr
    return os.fsdecode(finished.stdout)


def make_repository(
    folder: Path, files: Mapping[str, bytes] = FILES, ids: str = "sha1"
) -> Path:
    """Make a repository in which everything is committed."""
    folder.mkdir(parents=True)
    write_files(folder, files)
    git(folder, "init", "-q", "-b", "main", f"--object-format={ids}", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    return folder


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder; those ending in .sh can be run."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if name.endswith(".sh"):
            path.chmod(0o755)


def place(repository: Path, item: str = "42") -> Path:
    """Return where an item's worktree belongs."""
    return repository.parent / "home" / "worktrees" / "key" / item


def open_item(
    repository: Path,
    item: str = "42",
    title: str = "Add a shelf",
    base: str = "",
    *,
    begins: bool = False,
    builds_on: Sequence[str] = (),
) -> Worktree:
    """Open an item's worktree in its usual place."""
    return open_worktree(
        repository,
        place(repository, item),
        item,
        branch_of(item, title),
        base,
        begins=begins,
        builds_on=builds_on,
    )


def finish_item(
    worktree: Worktree, snapshot: str, message: str = "Done", when: int = 1_700_000_000
) -> str:
    """Commit a snapshot and deliver it to the user's repository; return the commit."""
    commit = commit_to_branch(worktree, snapshot, message, when)
    deliver_item(worktree, make_bundle(worktree, commit))
    return commit


def tip_of(worktree: Worktree) -> str:
    """Return the commit of the item's branch in its own repository."""
    return git(worktree.store, "rev-parse", worktree.branch_ref).strip()


def bundle_item(worktree: Worktree) -> bytes:
    """Return what the worker sends of an item whose work is committed."""
    return make_bundle(worktree, tip_of(worktree))


def deliver_item(worktree: Worktree, bundle: bytes, commit: str = "") -> None:
    """Deliver a bundle as the coordinator does."""
    with tempfile.TemporaryDirectory() as scratch:
        deliver(
            Path(worktree.repository),
            bundle,
            commit or tip_of(worktree),
            worktree.item,
            worktree.path,
            Path(scratch, "delivery"),
        )


def content_of(folder: Path) -> Content:
    """Return everything in a folder but the `.git` at its top: kind and bytes of each
    file and link.
    """
    found: Content = {}
    top = os.fsencode(folder)
    for parent, folders, names in os.walk(top):
        if parent == top and b".git" in folders:
            folders.remove(b".git")
        for name in [*names, *folders]:
            path = os.path.join(parent, name)  # noqa: PTH118
            relative = path[len(top) + 1 :]
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[relative] = ("link", os.readlink(path))  # noqa: PTH115
            elif stat.S_ISREG(mode) and relative != b".git":
                with open(path, "rb") as file:
                    found[relative] = (
                        "program" if mode & 0o100 else "file",
                        file.read(),
                    )
    return found
