"""List everything that was saved of a repository's items, and write it to a folder.

An item's snapshots are in its own repository. Items that only an earlier version worked
on have them in the user's repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.git.names import REFS, checked_commit, checked_item, is_branch
from agentos.repository.git.repository import find_repository, read_ref, refs_below
from agentos.repository.git.run import Git, one_line
from agentos.repository.git.snapshots import LATEST
from agentos.repository.git.storing import list_tree
from agentos.repository.git.worktree import OPENED, STORE, beside
from agentos.repository.git.writing import write_entries
from agentos.state.files import list_names, remove_tree

_FORMAT = (
    "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00%(contents:body)%00"
)
_FIELDS = 5


@dataclass(frozen=True, slots=True)
class SavedSnapshot:
    """A saved snapshot of an item."""

    item: str
    name: str
    commit: str
    when: int
    """Seconds since 1970."""
    files: int
    branch: str
    is_on_branch: bool
    """Whether a commit of the item's branch has exactly these files."""


def list_snapshots(
    repository: Path, worktrees: Path, item: str | None = None
) -> tuple[SavedSnapshot, ...]:
    """Return what was saved of one item or of all, the oldest first.

    `worktrees` is the folder of all worktrees of the repository.
    """
    items = _find_items(repository, worktrees)
    if item is not None:
        items = {checked_item(item)}
    found: list[SavedSnapshot] = []
    for each in items:
        git = saved_in(repository, worktrees, each)
        prefix = f"{REFS}/{each}/"
        found += _read(git, prefix)
    found.sort(key=_age)
    return tuple(found)


def _age(kept: SavedSnapshot) -> tuple[int, str, str]:
    return kept.when, kept.item, kept.name


def saved_in(repository: Path, worktrees: Path, item: str) -> Git:
    """Return git on the repository that has the snapshots of an item."""
    store = beside(worktrees / item, STORE)
    if store.exists():
        return Git(store, store)
    return find_repository(repository).git()


def _find_items(repository: Path, worktrees: Path) -> set[str]:
    """Return the items of which something is saved."""
    found = find_repository(repository)
    users = found.git()
    items = set()
    for ref in refs_below(users, f"{REFS}/"):
        item = ref.split("/")[2]
        items.add(item)
    suffix = f".{STORE}"
    for name in list_names(worktrees):
        if name.startswith(".") and name.endswith(suffix):
            item = name.removesuffix(suffix)
            items.add(item[1:])
    return items


def find_snapshot(git: Git, item: str, name: str = LATEST) -> str:
    """Return the commit that was saved under a name, by default the latest one."""
    ref = f"{REFS}/{checked_item(item)}/{name}"
    commit = read_ref(git, ref)
    if not commit:
        raise BadInput(
            f"item {item}: nothing was saved under {name[:80]!r}; agentos salvage lists"
            " what there is"
        )
    return commit


def restore_to(git: Git, folder: Path, commit: str) -> int:
    """Write a snapshot's files to a new folder and return their number.

    They are written beside the folder first, so that they appear together.
    """
    entries = list_tree(git, checked_commit(commit))
    folder = folder.absolute()
    if os.path.lexists(folder):
        raise BadInput(
            one_line(f"{folder}: is there already; name a folder that is not")
        )
    if not folder.parent.is_dir():
        raise BadInput(one_line(f"{folder.parent}: is not a folder; make it first"))
    suffix = os.urandom(6).hex()
    temporary = folder.with_name(f".{folder.name}.{suffix}")
    files = temporary / "files"
    staging = temporary / "staging"
    try:
        for part in (temporary, files, staging):
            part.mkdir(mode=0o700)
        write_entries(git, files, entries, staging)
        files.chmod(0o755)
        files.rename(folder)
    finally:
        remove_tree(temporary)
    return len(entries)


@dataclass(frozen=True, slots=True)
class _Row:
    item: str
    name: str
    commit: str
    tree: str
    when: int
    branch: str


def _read(git: Git, prefix: str) -> Iterator[SavedSnapshot]:
    rows = list(_rows(git, prefix))
    branches = {row.item: row.branch for row in rows if row.name == OPENED}
    trees: dict[str, frozenset[str]] = {}
    counts: dict[str, int] = {}
    for row in rows:
        if row.name in (LATEST, OPENED):
            continue
        branch = row.branch or branches.get(row.item, "")
        if branch not in trees:
            trees[branch] = _trees_of(git, branch)
        if row.tree not in counts:
            counts[row.tree] = _count_files(git, row.tree)
        yield SavedSnapshot(
            item=row.item,
            name=row.name,
            commit=row.commit,
            when=row.when,
            files=counts[row.tree],
            branch=branch,
            is_on_branch=row.tree in trees[branch],
        )


def _rows(git: Git, prefix: str) -> Iterator[_Row]:
    printed = git.run("for-each-ref", f"--format={_FORMAT}", "--", prefix)
    text = printed.decode("utf-8", "replace")
    fields = text.split("\0")
    for start in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        ref, commit, tree, when, body = fields[start : start + _FIELDS]
        path = ref.strip().removeprefix(f"{REFS}/")
        item, _, name = path.partition("/")
        if name and tree:
            yield _Row(
                item=item,
                name=name,
                commit=commit,
                tree=tree,
                when=int(when or 0),
                branch=_branch_in(body),
            )


def _branch_in(message: str) -> str:
    """Return the branch that the message of a snapshot names, empty if it names none."""
    for line in message.split("\n"):
        if not line.startswith("Branch: "):
            continue
        branch = line.removeprefix("Branch: ")
        if is_branch(branch):
            return branch
        break
    return ""


def _count_files(git: Git, tree: str) -> int:
    names = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
    return names.count(b"\0")


def _trees_of(git: Git, branch: str) -> frozenset[str]:
    """Return the trees of the newest commits of a branch."""
    if not branch:
        return frozenset()
    ref = f"refs/heads/{branch}"
    if not git.answers("rev-parse", "--verify", "--quiet", ref):
        return frozenset()
    trees = git.run(
        "log",
        "--max-count=200",
        "--format=%T",
        "--end-of-options",
        ref,
    )
    return frozenset(trees.decode().split())
