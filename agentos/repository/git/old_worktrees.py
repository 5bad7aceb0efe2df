"""Recognize a worktree of versions that built in a linked worktree of the user's
repository.
"""

from __future__ import annotations

import os
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.git.run import Git
from agentos.state.files import list_names, read_regular, remove_tree

_LIMIT = 20_000


def find_old_entry(users: Git, folder: Path, branch: str = "") -> Path | None:
    """Return the entry that the user's repository has for a folder, None if there is none
    or it is on another branch than the given one.
    """
    worktrees = users.git_dir / "worktrees"
    for name in sorted(list_names(worktrees)):
        entry = worktrees / name
        try:
            place = read_regular(entry / "gitdir", _LIMIT).rstrip(b"\n")
            head = read_regular(entry / "HEAD", _LIMIT).rstrip(b"\n")
        except BadInput:
            continue
        if place != os.fsencode(folder / ".git"):
            continue
        if branch and head != f"ref: refs/heads/{branch}".encode():
            return None
        return entry
    return None


def retire_old_entry(users: Git, folder: Path) -> None:
    """Have the user's repository forget a folder that has a repository of its own now."""
    entry = find_old_entry(users, folder)
    if entry is not None and not (folder / ".git").is_file():
        remove_tree(entry)
