"""Read what snapshots hold: files, differences, lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.worktrees.git import Git
from agentos.worktrees.names import checked_commit, os_bytes, os_text
from agentos.worktrees.repository import find_repository
from agentos.worktrees.storing import list_tree

DIFF_LIMIT = 2_000_000
FILE_LIMIT = 20_000_000
_CUT = "\n[the rest of the difference is left out]\n"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs between two commits; `kind` is A for added, D for deleted, M for modified, T for retyped."""

    path: str
    kind: str


def read_file(repository: Path, commit: str, path: str, *, limit: int = FILE_LIMIT) -> bytes | None:
    """Return a file of a commit as its bytes, of a link its target; None when the commit has no such file."""
    git = find_repository(repository).git()
    entry = list_tree(git, commit).get(os_bytes(path))
    return None if entry is None else git.run("cat-file", "blob", entry.content, limit=limit)


def list_files(repository: Path, commit: str) -> tuple[str, ...]:
    """Return the paths of all files of a commit."""
    return tuple(map(os_text, list_tree(find_repository(repository).git(), commit)))


def changed_files(repository: Path, base: str, commit: str) -> tuple[ChangedFile, ...]:
    """Return which files differ from one commit to another."""
    return tuple(_changes(find_repository(repository).git(), base, commit))


def diff(repository: Path, base: str, commit: str, *, limit: int = DIFF_LIMIT) -> str:
    """Return the difference between two commits as a text for people; of very long ones the beginning."""
    if limit < 1:
        raise BadInput("the limit of a difference is at least one byte")
    git = find_repository(repository).git()
    arguments = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short")
    with git.start(*arguments, checked_commit(base), checked_commit(commit)) as output:
        data = output.read(limit + 1)
    text = data[:limit].decode("utf-8", "replace")
    return text + _CUT if len(data) > limit else text


def _changes(git: Git, base: str, commit: str) -> list[ChangedFile]:
    arguments = ("diff-tree", "-r", "-z", "--no-renames", "--name-status")
    parts = git.recall(*arguments, checked_commit(base), checked_commit(commit)).split(b"\0")[:-1]
    return [ChangedFile(os_text(path), kind.decode()) for kind, path in zip(parts[::2], parts[1::2], strict=True)]
