"""Check what a repository brings along before anybody reads it or follows it: git's own files, and our folders.

Git opens its files as they come, so that a pipe in the place of one has it wait for ever. Of our own folders a link may
lead out of the repository, to files that are nobody's to send to a model.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import is_inside, read_regular

POINTER_LIMIT = 1_000_000
SETTINGS_LIMIT = 10_000_000
_SMALL = ("HEAD", "commondir", "gitdir")
_SETTINGS = ("config", "config.worktree", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates")
_LARGE = ("index", "packed-refs", "shallow")
_BARE = ("HEAD", "objects", "refs")
_FOLDERS = (
    *("docs", "docs/issues", "docs/briefs", "docs/answers", "docs/lld", "docs/lld/active", "docs/lld/done"),
    *("docs/lineage", "docs/lineage/active", "docs/lineage/superseded", "docs/reports"),
    *(".agentos", ".agentos/prompts", ".agentos/templates", ".agentos/recorded"),
)
"""Where items are read from, and where what becomes of them is written."""


def check_folders(repository: Path) -> None:
    """Refuse a repository of whose folders for input and output one is a link that leads out of it."""
    for name in _FOLDERS:
        place = repository / name
        if os.path.lexists(place) and not is_inside(place, repository):
            raise BadInput(f"{name}: leads outside the repository; remove the link and run again")


def check_git_files(folder: Path) -> None:
    """Refuse a folder in whose repository git would wait for ever, or read without end."""
    place = _find(folder)
    if place is None:
        return
    pointer = _check(place, POINTER_LIMIT) if not place.is_dir() else b""
    if pointer.startswith(b"gitdir:"):
        place = place.parent / os.fsdecode(pointer.removeprefix(b"gitdir:").strip())
    _check_git_folder(place)
    common = _check(place / "commondir", POINTER_LIMIT)
    if common:
        _check_git_folder(place / os.fsdecode(common.strip()))
    for name in (".gitignore", ".gitattributes", ".gitmodules"):
        _check_kind(folder / name)


def _find(folder: Path) -> Path | None:
    """Return what git would take for the repository of a folder: the first `.git` from there up, or a bare one."""
    for place in (folder, *folder.parents):
        if os.path.lexists(place / ".git"):
            return place / ".git"
        if all(os.path.lexists(place / name) for name in _BARE):
            return place
    return None


def _check_git_folder(place: Path) -> None:
    for name in _SMALL:
        _check(place / name, POINTER_LIMIT)
    for name in _SETTINGS:
        _check(place / name, SETTINGS_LIMIT)
    for name in _LARGE:
        _check_kind(place / name)
    head = _check(place / "HEAD", POINTER_LIMIT)
    if head.startswith(b"ref:"):
        _check_kind(place / os.fsdecode(head.removeprefix(b"ref:").strip()))


def _check(path: Path, limit: int) -> bytes:
    """Return what a file says, nothing when there is none."""
    if not os.path.lexists(path):
        return b""
    try:
        return read_regular(path, limit).rstrip(b"\0\n")
    except BadInput as error:
        raise BadInput(f"{_show(path)}: {str(error).partition(': ')[2]}") from None


def _check_kind(path: Path) -> None:
    """Refuse what is neither an ordinary file nor a folder."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise BadInput(f"{_show(path)}: is not an ordinary file; put one there")


def _show(path: Path) -> str:
    parts = path.parts
    return "/".join(parts[parts.index(".git") :]) if ".git" in parts else path.name
