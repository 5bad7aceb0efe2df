"""The repository of an item: made of the user's commits that it builds on and nothing
else, and shown to generated code as a copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import refs_below
from agentos.repository.git.run import Git, GitError
from agentos.repository.git.worktree import Worktree
from agentos.state.files import read_regular, write_atomically

_PACKS = "objects/pack"
_SHALLOW_LIMIT = 10_000_000
_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tfilemode = true
\tbare = {bare}
\tlogAllRefUpdates = false
"""
_LONG_IDS = "[extensions]\n\tobjectFormat = sha256\n"


def make_store(worktree: Worktree) -> None:
    """Make the item's own repository, without any commit, if it is not there."""
    _make_repository(worktree.store, worktree, bare="true")


def bring(worktree: Worktree, commits: Iterable[str]) -> None:
    """Copy commits with all their files from the user's repository.

    Commits of the user's come without their history. Those that were merged for this
    item, which the user does not have, come with their parents.
    """
    users = worktree.users_git()
    both = worktree.git_with_users()
    known = read_shallow(worktree.store)
    present = refs_below(worktree.git(), "refs/").values()
    wanted = set(map(checked_commit, commits))
    wanted.difference_update(present)
    if not wanted:
        return
    edges, merged = _find_edges(users, both, wanted)
    try:
        objects = _objects_of(both, edges | merged)
        objects -= _objects_of(both, known)
        if objects:
            _pack(both, objects, worktree.store)
    except GitError as error:
        raise GitError(
            f"{users.git_dir}: a commit cannot be read whole; fetch all of a partial"
            f" clone, else run git fsck ({error})"
        ) from error
    _write_shallow(worktree.store, edges | known)


def _find_edges(
    users: Git, both: Git, commits: Iterable[str]
) -> tuple[set[str], set[str]]:
    """Split commits into those that the user has, and those made for the item that lead
    to them.
    """
    edges = set()
    merged = set()
    waiting = list(commits)
    while waiting:
        commit = waiting.pop()
        if users.succeeds("cat-file", "-e", commit):
            edges.add(commit)
            continue
        merged.add(commit)
        line = both.line("rev-list", "--parents", "--max-count=1", commit)
        _, *parents = line.split(" ")
        waiting += parents
    return edges, merged


def _pack(git: Git, objects: Iterable[bytes], repository: Path) -> None:
    lines = b"\n".join(objects)
    git.run(
        "pack-objects",
        "--quiet",
        "--delta-base-offset",
        # What is stored as a difference already stays one; others are not compared.
        "--window=0",
        str(repository / _PACKS / "pack"),
        data=lines + b"\n",
    )


def _objects_of(git: Git, commits: Iterable[str]) -> set[bytes]:
    """Return the ids of commits and of all their files and folders, without history."""
    listed = list(commits)
    if not listed:
        return set()
    printed = git.run("rev-list", "--objects", "--no-walk", *listed)
    found = set()
    for line in printed.split(b"\n")[:-1]:
        id, _, _ = line.partition(b" ")
        found.add(id)
    return found


def read_shallow(store: Path) -> frozenset[str]:
    """Return the commits of the user's at which the history of a repository ends."""
    path = store / "shallow"
    if not path.exists():
        return frozenset()
    data = read_regular(path, _SHALLOW_LIMIT)
    lines = data.decode("ascii").split()
    return frozenset(map(checked_commit, lines))


def show_copy(worktree: Worktree, commit: str, staging: Path) -> None:
    """Give the folder a `.git` with the item's branch at a commit and nothing else: no
    snapshot, and no later commit.

    It is for generated code and for people who look: we never read it, so nothing that
    is written there has an effect outside of the sandbox.
    """
    copy = staging / "copy"
    _make_repository(copy, worktree, bare="false")
    own = worktree.git()
    # It ends where the store is shallow.
    history = set(own.run("rev-list", commit).decode("ascii").split())
    edges = read_shallow(worktree.store)
    if edges == {commit}:
        _copy_packs(worktree.store, copy)
    else:
        _pack(own, _objects_of(own, history), copy)
    _write_shallow(copy, edges & history)
    branch = copy / worktree.branch_ref
    branch.parent.mkdir(parents=True)
    branch.write_text(commit, "ascii")
    git = Git(copy, worktree.path)
    git.run("read-tree", commit)
    shown = worktree.path / ".git"
    is_link = shown.is_symlink()
    if shown.is_dir() and not is_link:
        shown.chmod(0o700)
        shown.rename(staging / "old")
    else:
        shown.unlink(missing_ok=True)
    copy.rename(shown)


def _copy_packs(store: Path, copy: Path) -> None:
    for pack in (store / _PACKS).iterdir():
        # Not a link: whoever may write to the copy must not reach the original.
        shutil.copyfile(pack, copy / _PACKS / pack.name)


def _make_repository(folder: Path, worktree: Worktree, *, bare: str) -> None:
    for name in (_PACKS, "objects/info", "refs/heads"):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
    head = folder / "HEAD"
    if head.exists():
        return
    config = _CONFIG.format(bare=bare)
    if len(worktree.base) > 40:
        config += _LONG_IDS
    _write(folder / "config", config)
    # Last, because it is what makes the folder a repository.
    _write(head, f"ref: {worktree.branch_ref}\n")


def _write_shallow(folder: Path, edges: Iterable[str]) -> None:
    lines = [*sorted(edges), ""]
    _write(folder / "shallow", "\n".join(lines))


def _write(path: Path, text: str) -> None:
    write_atomically(path, text.encode(), mode=0o644)
