"""Write the files of a tree into a folder: each one whole, and never through a link."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentos.repository.git.names import is_kept_from_git, os_text
from agentos.repository.git.run import Git, WorktreeConflict
from agentos.repository.git.scanning import (
    LINK,
    PROGRAM,
    SUBMODULE,
    open_folder,
    open_root,
)
from agentos.repository.git.storing import TreeEntry, open_blobs


def write_entries(
    git: Git, folder: Path, entries: Mapping[bytes, TreeEntry], staging: Path
) -> None:
    """Write these files; each is made in `staging` and moved, so that none is partial
    after a kill.
    """
    files = []
    submodules = []
    for path, entry in entries.items():
        _check_path(path)
        if entry.mode == SUBMODULE:
            submodules.append(path)
        else:
            files.append((path, entry))
    files.sort()
    with open_root(folder) as root:
        for path in submodules:
            _make_folders(root, path)
        if not files:
            return
        contents = [entry.content for _, entry in files]
        last_parent = b""
        with open_blobs(git, contents) as blobs:
            for (path, entry), parts in zip(files, blobs, strict=True):
                made = staging / secrets.token_hex(8)
                _make(made, entry.mode, parts)
                parent = path.rpartition(b"/")[0]
                if parent != last_parent:
                    _make_folders(root, parent)
                    last_parent = parent
                _move_in(made, root, path)


def remove_files(folder: Path, paths: Iterable[bytes]) -> None:
    """Remove these files and the folders that this leaves empty; missing files are
    fine.
    """
    with open_root(folder) as root:
        for path in sorted(paths, reverse=True):
            parent, _, name = path.rpartition(b"/")
            try:
                with open_folder(root, parent) as descriptor:
                    os.unlink(name, dir_fd=descriptor)
            except IsADirectoryError:
                # A submodule that is not checked out is an empty folder.
                _remove_empty(root, path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            _remove_empty(root, parent)


def _make(made: Path, mode: str, parts: Iterator[bytes]) -> None:
    if mode == LINK:
        made.symlink_to(os.fsdecode(b"".join(parts)))
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(made, flags, 0o600)
    with open(descriptor, "wb") as file:
        for part in parts:
            file.write(part)
        os.fchmod(descriptor, 0o755 if mode == PROGRAM else 0o644)


def _move_in(made: Path, root: int, path: bytes) -> None:
    parent, _, name = path.rpartition(b"/")
    with open_folder(root, parent) as descriptor:
        try:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(name, dir_fd=descriptor)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise WorktreeConflict(
                f"{os_text(path)!r}: a folder with files that cannot be saved is where"
                " this file belongs; move it away"
            ) from error
        os.rename(os.fsencode(made), name, dst_dir_fd=descriptor)


def _make_folders(root: int, path: bytes) -> None:
    """Make a folder and its parents; a pipe or the like in its place is removed."""
    parts = path.split(b"/") if path else []
    for number, name in enumerate(parts):
        with open_folder(root, b"/".join(parts[:number])) as parent:
            try:
                os.mkdir(name, 0o755, dir_fd=parent)
            except FileExistsError:
                mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
                if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                    where = os_text(b"/".join(parts[: number + 1]))
                    raise WorktreeConflict(
                        f"{where!r}: is in the place of a folder; move it away"
                    ) from None
                if not stat.S_ISDIR(mode):
                    os.unlink(name, dir_fd=parent)
                    os.mkdir(name, 0o755, dir_fd=parent)


def _remove_empty(root: int, path: bytes) -> None:
    while path:
        parent, _, name = path.rpartition(b"/")
        try:
            with open_folder(root, parent) as descriptor:
                os.rmdir(name, dir_fd=descriptor)
        except OSError:
            return
        path = parent


def _check_path(path: bytes) -> None:
    for name in path.split(b"/"):
        if name in (b"", b".", b"..") or is_kept_from_git(name):
            raise WorktreeConflict(
                f"{os_text(path)!r}: is not a path that a snapshot may write; nothing"
                " was written"
            )
