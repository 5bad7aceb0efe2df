"""Read the files of commits."""

from __future__ import annotations

from collections.abc import Iterable

from agentos.repository.git.names import checked_commit, os_bytes, os_text
from agentos.repository.git.run import Git
from agentos.repository.git.storing import list_tree

FILE_LIMIT = 20_000_000


def read_file(
    git: Git, commit: str, path: str, *, limit: int = FILE_LIMIT
) -> bytes | None:
    """Return the content of a file or the target of a link, None if the commit has no
    such file.
    """
    entry = list_tree(git, commit).get(os_bytes(path))
    if entry is None:
        return None
    return git.run("cat-file", "blob", entry.content, limit=limit)


def list_files(git: Git, commit: str) -> tuple[str, ...]:
    """Return the paths of all files of a commit."""
    return tuple(map(os_text, list_tree(git, commit)))


def changed_files(git: Git, base: str, commit: str) -> tuple[str, ...]:
    """Return the paths of the files that differ between two commits."""
    printed = git.recall(
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--name-only",
        checked_commit(base),
        checked_commit(commit),
    )
    return tuple(map(os_text, printed.split(b"\0")[:-1]))


def has_commits(git: Git, commits: Iterable[str]) -> bool:
    """Return whether a repository has all these commits, each with its tree."""
    checked = map(checked_commit, commits)
    names = [f"{commit}^{{tree}}\n" for commit in checked]
    asked = "".join(names)
    printed = git.run(
        "cat-file",
        "--batch-check=%(objecttype)",
        data=asked.encode(),
    )
    return printed == b"tree\n" * len(names)


def show_diff(git: Git, base: str, commit: str) -> str:
    """Return what changed between two commits as text; nothing of the repository's
    configuration decides how.
    """
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
    output = git.run(
        "diff",
        *options,
        "-U10",
        checked_commit(base),
        checked_commit(commit),
        "--",
        limit=FILE_LIMIT,
    )
    return output.decode("utf-8", "replace")
