"""Decide whether anybody but the user determines what is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.environment.needs import Needs
from agentos.proving.environment.requirement_lines import FILE_LIMIT, path_of
from agentos.proving.environment.safe_requirements import is_plain
from agentos.repository.git.names import checked_commit, os_text
from agentos.repository.git.repository import resolve_commit
from agentos.repository.git.run import Git
from agentos.state.files import is_inside, read_regular


def has_untrusted_needs(needs: Needs, git: Git, commit: str) -> bool:
    """Return whether the needs come, in part, from anybody but the user.

    The user's own files are those in HEAD, and those where the work in `commit`
    branched off: work on top of another item's unmerged work includes that item's
    dependencies, which the user has not accepted yet. Files are compared as they are in
    the folder of the needs. Folders and archives of the repository that the needs name
    are compared as they are in `commit`, because building them creates files.
    """
    commit = checked_commit(commit)
    head = resolve_commit(git)
    answer = git.answers("merge-base", head, commit)
    branched = answer.decode().strip()
    own = [head]
    if branched not in ("", head):
        own.append(branched)
    for source in needs.sources:
        if not _is_own_file(needs.folder, source, git, own):
            return True
    return any(_is_changed(path, git, own, commit) for path in _local_paths(needs))


def _is_own_file(folder: Path, name: str, git: Git, own: Sequence[str]) -> bool:
    path = folder / name
    if not is_inside(path, folder):
        return False
    try:
        data = read_regular(path, FILE_LIMIT)
    except BadInput:
        return False
    # The contents of a link are those of the file that it leads to.
    target = _relative(path, folder)
    for commit in own:
        blob = _hash(data, len(commit))
        if _blob_id(git, commit, target) == blob:
            return True
    return False


def _blob_id(git: Git, commit: str, path: str) -> str:
    listed = git.recall("ls-tree", "-z", "--full-tree", commit, "--", path)
    described = listed.partition(b"\t")[0].decode()
    fields = described.split(" ")
    if len(fields) != 3:
        return ""
    _, kind, blob = fields
    if kind != "blob":
        return ""
    return blob


def _hash(data: bytes, length: int) -> str:
    """Return the git id of these bytes, of the length that the repository uses."""
    stored = b"blob %d\0%b" % (len(data), data)
    if length == 40:
        return hashlib.sha1(stored).hexdigest()
    return hashlib.sha256(stored).hexdigest()


def _local_paths(needs: Needs) -> Iterator[str]:
    for line in (
        *needs.locked,
        *needs.requirements,
        *needs.constraints,
    ):
        if is_plain(line):
            continue
        address = line.partition(" @ ")[2]
        text = path_of(address or line)
        if not text:
            continue
        path = needs.folder / text.removeprefix("file:")
        if not is_inside(path, needs.folder):
            continue
        if path.exists():
            yield _relative(path, needs.folder)


def _relative(path: Path, folder: Path) -> str:
    root = folder.resolve()
    return path.resolve().relative_to(root).as_posix()


def _is_changed(path: str, git: Git, own: Sequence[str], commit: str) -> bool:
    """Return whether a path in `commit` differs from that in each own commit."""
    prefix = f"{path}/"
    if path == ".":
        prefix = ""
    command = ("diff-tree", "-r", "-z", "--no-renames", "--name-only")
    for each in own:
        listed = git.recall(*command, each, commit)
        names = listed.split(b"\0")[:-1]
        changed = [f"{os_text(name)}/" for name in names]
        if not any(name.startswith(prefix) for name in changed):
            return False
    return True
