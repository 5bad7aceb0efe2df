"""List, copy and digest the files of a project, as a build reads them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from agentos.errors import BadInput
from agentos.state.files import open_regular

MOST_FILES = 100_000
_SKIPPED = frozenset({".git", "__pycache__"})


def list_tree(folder: Path) -> list[str]:
    """Return the paths of the files and links below a folder, in order."""
    found = []
    for top, folders, names in os.walk(folder):
        here = Path(top)
        relative = here.relative_to(folder)
        inner = set(folders) - _SKIPPED
        links = set()
        for name in inner:
            if (here / name).is_symlink():
                links.add(name)
        folders[:] = inner - links
        kept = links.union(names) - _SKIPPED
        for name in kept:
            path = relative / name
            found.append(path.as_posix())
        if len(found) > MOST_FILES:
            raise BadInput(f"it has more than {MOST_FILES:,} files")
    return sorted(found)


def copy_tree(folder: Path, tree: Sequence[str], target: Path) -> None:
    """Copy the listed files and links; pipes and devices are left out."""
    for name in tree:
        source = folder / name
        copy = target / name
        if source.is_symlink() or source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def digest_tree(folder: Path, tree: Sequence[str]) -> str:
    """Return a digest of the listed files: a build may read any of them."""
    state = hashlib.sha256()
    for name in tree:
        content = _content(folder / name)
        state.update(os.fsencode(name))
        state.update(b"\0")
        state.update(content)
    return state.hexdigest()


def _content(path: Path) -> bytes:
    if path.is_symlink():
        target = path.readlink()
        return b"link " + os.fsencode(target)
    try:
        with open_regular(path) as file:
            data = file.read()
    except BadInput:
        return b"unreadable"
    return hashlib.sha256(data).digest()
