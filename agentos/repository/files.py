"""Check git's own files and our folders in a repository before anybody reads them.

Git opens its files as they are, so it would wait forever for a pipe in place of one.
One of our folders may be a link out of the repository, to files that must not be sent
to a model.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agentos.errors import BadInput
from agentos.state.files import is_inside, read_regular

POINTER_LIMIT = 1_000_000
SETTINGS_LIMIT = 10_000_000
_SMALL = ("HEAD", "commondir", "gitdir")
_SETTINGS = (
    "config",
    "config.worktree",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
)
_LARGE = ("index", "packed-refs", "shallow")
_BARE = ("HEAD", "objects", "refs")
_FOLDERS = (
    "docs",
    "docs/issues",
    "docs/briefs",
    "docs/answers",
    "docs/lld",
    "docs/lld/active",
    "docs/lld/done",
    "docs/lineage",
    "docs/lineage/active",
    "docs/lineage/superseded",
    "docs/reports",
    ".agentos",
    ".agentos/prompts",
    ".agentos/templates",
)
"""Folders that items are read from and results are written to."""


def check_folders(repository: Path) -> None:
    """Raise `BadInput` if one of our folders is a link out of the repository."""
    for name in _FOLDERS:
        place = repository / name
        if os.path.lexists(place) and not is_inside(place, repository):
            raise BadInput(
                f"{name}: leads outside the repository; remove the link and run again"
            )


def check_git_files(folder: Path) -> None:
    """Raise `BadInput` if git would wait forever, or read without end."""
    git_dir = _find(folder)
    if git_dir is None:
        return
    if not git_dir.is_dir():
        pointer = _check(git_dir, POINTER_LIMIT)
        if pointer.startswith(b"gitdir:"):
            target = pointer.removeprefix(b"gitdir:").strip()
            git_dir = git_dir.parent / os.fsdecode(target)
    _check_git_folder(git_dir)
    common = _check(git_dir / "commondir", POINTER_LIMIT)
    if common:
        _check_git_folder(git_dir / os.fsdecode(common.strip()))
    for name in (".gitignore", ".gitattributes", ".gitmodules"):
        _check_kind(folder / name)


def _find(folder: Path) -> Path | None:
    """Return what git takes for the repository of a folder: the nearest `.git`, or a
    bare one.
    """
    for parent in (folder, *folder.parents):
        if os.path.lexists(parent / ".git"):
            return parent / ".git"
        if all(os.path.lexists(parent / name) for name in _BARE):
            return parent
    return None


def _check_git_folder(git_dir: Path) -> None:
    for name in _SMALL:
        _check(git_dir / name, POINTER_LIMIT)
    for name in _SETTINGS:
        _check(git_dir / name, SETTINGS_LIMIT)
    for name in _LARGE:
        _check_kind(git_dir / name)
    head = _check(git_dir / "HEAD", POINTER_LIMIT)
    if head.startswith(b"ref:"):
        ref = head.removeprefix(b"ref:").strip()
        _check_kind(git_dir / os.fsdecode(ref))


def _check(path: Path, limit: int) -> bytes:
    """Return the content of a file, empty if there is none."""
    if not os.path.lexists(path):
        return b""
    try:
        return read_regular(path, limit).rstrip(b"\0\n")
    except BadInput as error:
        reason = str(error).partition(": ")[2]
        raise BadInput(f"{_show(path)}: {reason}") from None


def _check_kind(path: Path) -> None:
    """Raise `BadInput` for what is neither a regular file nor a folder."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise BadInput(f"{_show(path)}: is not an ordinary file; put one there")


def _show(path: Path) -> str:
    parts = path.parts
    if ".git" not in parts:
        return path.name
    return "/".join(parts[parts.index(".git") :])
