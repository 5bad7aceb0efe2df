"""Tell whether somebody else than the user has a say in what is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from agentos.environments.needs import Needs
from agentos.environments.plain_lines import is_plain
from agentos.environments.requirement_lines import FILE_LIMIT
from agentos.errors import BadInput
from agentos.files import is_inside, read_regular
from agentos.worktrees.git import Git
from agentos.worktrees.names import checked_commit, os_text
from agentos.worktrees.repository import resolve_commit


def is_asked_by_others(needs: Needs, git: Git, commit: str) -> bool:
    """Tell whether what the needs say is not all the user's own.

    The user's own is what HEAD has, and what it had where the work in `commit` branched off: work that builds on
    unmerged work of another item brings that one's dependencies along, and they are nobody's own yet. The files are
    compared as they lie in the folder of the needs. Folders and archives of the repository that the needs name are
    compared as they are in `commit`, because building them leaves files behind.
    """
    head = resolve_commit(git)
    branched = git.answers("merge-base", head, checked_commit(commit)).decode().strip()
    own = tuple(dict.fromkeys(filter(None, (head, branched))))
    return any(not _is_own_file(needs.folder, source, git, own) for source in needs.sources) or any(
        all(_is_changed(path, git, each, commit) for each in own) for path in _local_paths(needs)
    )


def _is_own_file(folder: Path, name: str, git: Git, own: tuple[str, ...]) -> bool:
    path = folder / name
    if not is_inside(path, folder):
        return False
    try:
        data = read_regular(path, FILE_LIMIT)
    except BadInput:
        return False
    # A link says nothing itself, the file that it leads to does.
    target = path.resolve().relative_to(folder.resolve()).as_posix()
    return any(_content_id(git, commit, target) == _hash(data, len(commit)) for commit in own)


def _content_id(git: Git, commit: str, path: str) -> str:
    listed = git.recall("ls-tree", "-z", "--full-tree", commit, "--", path)
    facts = listed.partition(b"\t")[0].decode().split(" ")
    return facts[2] if len(facts) == 3 and facts[1] == "blob" else ""


def _hash(data: bytes, length: int) -> str:
    """Return the id under which git has these bytes, of the same length as the others of the repository."""
    stored = b"blob %d\0%b" % (len(data), data)
    return hashlib.sha1(stored).hexdigest() if length == 40 else hashlib.sha256(stored).hexdigest()


def _local_paths(needs: Needs) -> Iterator[str]:
    for line in (*needs.locked, *needs.requirements, *needs.constraints, *needs.install):
        if is_plain(line):
            continue
        address = line.partition(" @ ")[2] or line
        text = address.partition(";")[0].partition("#")[0].partition("[")[0].strip()
        path = needs.folder / text.removeprefix("file:")
        if text and "\0" not in text and is_inside(path, needs.folder) and path.exists():
            yield path.resolve().relative_to(needs.folder.resolve()).as_posix()


def _is_changed(path: str, git: Git, own: str, commit: str) -> bool:
    arguments = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", own, checked_commit(commit))
    names = [os_text(name) for name in git.recall(*arguments).split(b"\0")[:-1]]
    return any(path == "." or name == path or name.startswith(f"{path}/") for name in names)
