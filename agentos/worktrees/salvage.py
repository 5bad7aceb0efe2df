"""Find everything that was ever saved of a repository's items, and write it out again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import remove_tree
from agentos.worktrees.git import Git, one_line
from agentos.worktrees.names import REFS, checked_commit, checked_item, is_branch
from agentos.worktrees.repository import find_repository
from agentos.worktrees.snapshots import LATEST, OPENED
from agentos.worktrees.storing import list_tree
from agentos.worktrees.writing import write_entries

_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00%(contents:body)%00"


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing that was saved of an item."""

    item: str
    name: str
    commit: str
    when: int
    """Seconds since 1970."""
    files: int
    branch: str
    is_on_branch: bool
    """Whether some commit of the item's branch has exactly these files."""


def list_snapshots(repository: Path, item: str | None = None) -> tuple[Kept, ...]:
    """Return what was saved, of one item or of all, the oldest first."""
    git = find_repository(repository).git()
    prefix = f"{REFS}/" if item is None else f"{REFS}/{checked_item(item)}/"
    found = sorted(_read(git, prefix), key=lambda kept: (kept.when, kept.item, kept.name))
    return tuple(found)


def find_snapshot(repository: Path, item: str, name: str = LATEST) -> str:
    """Return the commit that was saved under a name, by default the last one."""
    git = find_repository(repository).git()
    wanted = f"{REFS}/{checked_item(item)}/{name}"
    for line in git.run("for-each-ref", "--format=%(objectname) %(refname)", "--", f"{REFS}/{item}/").split(b"\n"):
        commit, _, ref = line.decode().partition(" ")
        if ref == wanted:
            return commit
    raise BadInput(f"item {item}: nothing was saved under {name[:80]!r}; agentos salvage lists what there is")


def restore_to(repository: Path, folder: Path, commit: str) -> int:
    """Write a snapshot's files into a folder that is not there yet; return how many there are.

    They are written beside it and appear together.
    """
    git = find_repository(repository).git()
    entries = list_tree(git, checked_commit(commit))
    folder = folder.absolute()
    if os.path.lexists(folder):
        raise BadInput(one_line(f"{folder}: is there already; name a folder that is not"))
    if not folder.parent.is_dir():
        raise BadInput(one_line(f"{folder.parent}: is not a folder; make it first"))
    made = folder.with_name(f".{folder.name}.{os.urandom(6).hex()}")
    try:
        for part in (made, made / "files", made / "staging"):
            part.mkdir(mode=0o700)
        write_entries(git, made / "files", entries, made / "staging")
        (made / "files").chmod(0o755)
        (made / "files").rename(folder)
    finally:
        remove_tree(made)
    return len(entries)


@dataclass(frozen=True, slots=True)
class _Row:
    item: str
    name: str
    commit: str
    tree: str
    when: int
    branch: str


def _read(git: Git, prefix: str) -> Iterator[Kept]:
    rows = list(_rows(git, prefix))
    branches = {row.item: row.branch for row in rows if row.name == OPENED}
    trees = {branch: _trees_of(git, branch) for branch in {row.branch for row in rows} | {*branches.values()}}
    counts: dict[str, int] = {}
    for row in rows:
        if row.name in (LATEST, OPENED):
            continue
        if row.tree not in counts:
            counts[row.tree] = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", row.tree).count(b"\0")
        branch = row.branch or branches.get(row.item, "")
        is_there = row.tree in trees.get(branch, ())
        yield Kept(row.item, row.name, row.commit, row.when, counts[row.tree], branch, is_there)


def _rows(git: Git, prefix: str) -> Iterator[_Row]:
    parts = git.run("for-each-ref", f"--format={_FORMAT}", "--", prefix).decode("utf-8", "replace").split("\0")
    for ref, commit, tree, when, body in zip(*(parts[number::5] for number in range(5)), strict=False):
        item, _, name = ref.strip().removeprefix(f"{REFS}/").partition("/")
        branch = next((line[8:] for line in body.split("\n") if line.startswith("Branch: ")), "")
        if name and tree:
            yield _Row(item, name, commit, tree, int(when or 0), branch if is_branch(branch) else "")


def _trees_of(git: Git, branch: str) -> frozenset[str]:
    """Return the trees of the newest commits of a branch."""
    ref = f"refs/heads/{branch}"
    if not branch or not git.answers("rev-parse", "--verify", "--quiet", ref):
        return frozenset()
    return frozenset(git.run("log", "--max-count=200", "--format=%T", "--end-of-options", ref).decode().split())
