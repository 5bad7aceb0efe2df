"""How git knows of a worktree: its entry in the repository and the `.git` file in its folder, and their repair."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from agentos.files import list_names, write_atomically
from agentos.worktrees.git import Git, GitError, WorktreeConflict

_LIMIT = 20_000
_STILL_MADE = b"initializing"


def find_entry(git: Git, folder: Path) -> Path | None:
    """Return the entry of exactly this folder, None when git knows of none."""
    for entry in _entries(git):
        if _place(entry) == folder / ".git":
            return entry
    return None


def named_entry(git: Git, folder: Path) -> Path | None:
    """Return the entry, there or not, that the folder's own `.git` file names, None if it is not of this repository."""
    try:
        text = _read(folder / ".git").removesuffix(b"\n")
    except OSError:
        return None
    entry = Path(os.fsdecode(text.removeprefix(b"gitdir: ")))
    is_ours = (
        text.startswith(b"gitdir: ") and entry.parent == git.git_dir / "worktrees" and entry.name not in (".", "..")
    )
    return entry if is_ours else None


def add_entry(git: Git, folder: Path, branch: str) -> Path:
    """Have git register a folder that is not there yet, or empty, for a branch; no file is checked out."""
    git.run("worktree", "add", "--no-checkout", "--", str(folder), branch)
    entry = find_entry(git, folder)
    if entry is None:
        raise GitError(f"{folder}: git did not register the worktree; start again")
    return entry


def mend_entry(entry: Path, folder: Path, branch: str) -> None:
    """Complete an entry that is damaged, lost or half-made; a whole one stays as it is."""
    entry.mkdir(parents=True, exist_ok=True)
    place = _place(entry)
    if place is not None and place != folder / ".git":
        raise WorktreeConflict(f"{folder}: git has its entry {entry.name} for {place.parent}; move one of them away")
    _write_if_other(entry / "gitdir", os.fsencode(folder / ".git") + b"\n")
    _write_if_other(entry / "commondir", b"../..\n")
    if not _is_head(entry / "HEAD"):
        _write_if_other(entry / "HEAD", f"ref: refs/heads/{branch}\n".encode())
    lock = entry / "locked"
    if lock.is_file() and _read(lock).strip() == _STILL_MADE:
        # We hold the repository's lock and no git of ours is running, so whoever was making it is gone.
        lock.unlink(missing_ok=True)


def mend_link(entry: Path, folder: Path) -> None:
    """Have the folder's `.git` name its entry; another repository's `.git` is moved beside the folder, not removed."""
    link = folder / ".git"
    content = b"gitdir: " + os.fsencode(entry) + b"\n"
    try:
        if not link.is_symlink() and link.is_file() and _read(link) == content:
            return
    except OSError:
        pass
    if link.is_dir() and not link.is_symlink():
        link.rename(folder.with_name(f".{folder.name}.foreign-git.{secrets.token_hex(4)}"))
    write_atomically(link, content, mode=0o644, temporary=folder.with_name(f".{folder.name}.git-file"))


def head_of(git: Git, entry: Path) -> str:
    """Return the ref that a worktree is on, empty when it is on none."""
    return os.fsdecode(git.at(entry, git.git_dir).answers("symbolic-ref", "--quiet", "HEAD").removesuffix(b"\n"))


def lock_reason(entry: Path) -> str | None:
    """Return why somebody locked a worktree, None when nobody did."""
    try:
        return _read(entry / "locked").decode("utf-8", "replace").strip() or "no reason given"
    except OSError:
        return None


def clear_index_lock(entry: Path, folder: Path) -> None:
    """Remove the lock on a worktree's index that a killed git left; one that somebody may hold stays."""
    for name in ("index.lock", "HEAD.lock"):
        lock = entry / name
        if not lock.exists():
            continue
        if holder := _find_holder(lock, folder):
            raise WorktreeConflict(f"{lock}: is held by process {holder}; wait until it has ended and start again")
        lock.unlink(missing_ok=True)


def _find_holder(lock: Path, folder: Path) -> int:
    """Return a process that has the file open, or a git that works in the folder; 0 when there is none."""
    for pid in (int(name) for name in list_names(Path("/proc")) if name.isdigit()):
        if pid == os.getpid():
            continue
        process = Path(f"/proc/{pid}")
        try:
            if any((process / "fd" / name).readlink() == lock for name in list_names(process / "fd")):
                return pid
            is_git = (process / "comm").read_bytes().startswith(b"git")
            if is_git and (process / "cwd").readlink().is_relative_to(folder):
                return pid
        except OSError:
            continue
    return 0


def _entries(git: Git) -> Iterator[Path]:
    for name in sorted(list_names(git.git_dir / "worktrees")):
        yield git.git_dir / "worktrees" / name


def _place(entry: Path) -> Path | None:
    try:
        text = os.fsdecode(_read(entry / "gitdir")).rstrip("\n")
    except OSError:
        return None
    if not text or "\0" in text:
        return None
    place = Path(os.path.normpath(entry / text))
    return place if place.name == ".git" else None


def _is_head(path: Path) -> bool:
    try:
        text = _read(path).strip()
    except OSError:
        return False
    return text.startswith(b"ref: refs/") or (len(text) in (40, 64) and bool(text.strip(b"0")) and text.isalnum())


def _write_if_other(path: Path, content: bytes) -> None:
    try:
        if _read(path) == content:
            return
    except OSError:
        pass
    write_atomically(path, content, mode=0o644)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return file.read(_LIMIT)
