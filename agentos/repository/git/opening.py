"""Open the worktree of an item: make a new one, go on with one that is there, refuse what
is not ours. The user's repository is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.git.hardening import NOBODY
from agentos.repository.git.merging import join
from agentos.repository.git.names import (
    BRANCHES,
    branch_of,
    checked_branch,
    checked_item,
)
from agentos.repository.git.old_worktrees import find_old_entry
from agentos.repository.git.own_repository import bring, make_store, show_copy
from agentos.repository.git.repository import (
    change_refs,
    find_repository,
    identity_variables,
    is_ancestor,
    read_ref,
    refs_below,
    resolve_commit,
    tree_of,
)
from agentos.repository.git.run import Git, WorktreeConflict
from agentos.repository.git.snapshots import (
    bring_back,
    commit_tree,
    describe_item,
    read_latest,
)
from agentos.repository.git.stacking import find_base, is_taken_up, latest_commit
from agentos.repository.git.worktree import Worktree, lock_worktree
from agentos.state.files import make_private_directory

_BRANCHES_REF = f"refs/heads/{BRANCHES}"


def open_worktree(
    repository: Path,
    folder: Path,
    item: str,
    branch: str,
    base: str = "",
    *,
    builds_on: Iterable[str] = (),
    begins: bool = False,
    say: Callable[[str], None] | None = None,
) -> Worktree:
    """Return the worktree of an item, with its files as they were left.

    The first time, the branch starts from `base`; without one, from the head and the
    finished work that the item `builds_on`. An item that was opened before keeps its
    first branch and base, unless it starts over (`begins`) and its branch has no
    unmerged work of ours. A folder that vanished is filled from the latest snapshot.
    Whatever is not ours (a folder in the way, a branch with other commits or in use
    elsewhere) is left untouched and reported.
    """
    checked_item(item)
    checked_branch(branch)
    found = find_repository(repository)
    users = found.git()
    head = resolve_commit(users)
    parent = make_private_directory(folder.parent).resolve()
    folder = parent / folder.name
    worktree = Worktree(
        repository=str(found.path),
        folder=str(folder),
        item=item,
        branch=branch,
        base=head,
    )
    with lock_worktree(worktree) as (git, staging):
        recorded = read_record(users, worktree)
        known = None
        if worktree.store.exists():
            known = read_record(git, worktree)
        _check_place(users, recorded or worktree)
        check_branch(users, known or recorded or worktree, may_be_merged=begins)
        make_store(worktree)
        if known is None:
            _take_over(git, users, worktree)
            known = read_record(git, worktree)
        if known is None or begins:
            both = worktree.git_with_users().holding(*git.held)
            if base:
                base = resolve_commit(both, base)
            else:
                base = find_base(both, builds_on, say)
            known = _begin(git, both, known, replace(worktree, base=base))
        _fill(git, known, staging)
    return known


def read_record(git: Git, worktree: Worktree) -> Worktree | None:
    """Return the branch and base with which the item was opened, None if a repository has
    no record of them or no such branch.
    """
    commit = read_ref(git, worktree.record_ref)
    if not commit:
        return None
    data = git.run("cat-file", "commit", commit, limit=1_000_000)
    text = data.decode("utf-8", "replace")
    _, _, message = text.partition("\n\n")
    noted = {}
    for line in message.split("\n"):
        key, colon, value = line.partition(": ")
        if colon:
            noted[key] = value
    try:
        item = noted["Item"]
        known = replace(worktree, branch=noted["Branch"], base=noted["Base"])
    except (KeyError, BadInput):
        return None
    if item != worktree.item:
        return None
    if not read_ref(git, known.branch_ref):
        return None
    return known


def find_record(repository: Path, item: str) -> Worktree | None:
    """Return the branch and base of an item whose work is in the user's repository."""
    found = find_repository(repository)
    git = found.git()
    nowhere = str(found.git_dir / "none")
    try:
        head = resolve_commit(git)
    except BadInput:
        return None
    worktree = Worktree(
        repository=str(found.path),
        folder=nowhere,
        item=item,
        branch=branch_of(item, ""),
        base=head,
    )
    return read_record(git, worktree)


def write_record(git: Git, worktree: Worktree) -> str:
    """Return a commit that records branch and base of an item; the same for the same
    ones, at any time.
    """
    message = f"Opened item {worktree.item}\n\n{describe_item(worktree)}"
    tree = tree_of(git, worktree.base)
    author = git.with_variables(**identity_variables(NOBODY, 0))
    return commit_tree(author, tree, worktree.base, message)


def check_branch(users: Git, worktree: Worktree, *, may_be_merged: bool) -> None:
    """Refuse a branch of the user's repository that has commits that are not ours, or
    that is checked out.

    With `may_be_merged`, commits of others on it are fine if the head has them all.
    """
    tip = find_free_tip(users, worktree)
    if not tip:
        return
    if may_be_merged and is_ancestor(users, tip, resolve_commit(users)):
        return
    ours = refs_below(users, f"{worktree.refs}/").values()
    if tip != worktree.base and tip not in ours:
        last = latest_commit(users, worktree.item)
        way_back = f"branch -D {worktree.branch}"
        if last:
            way_back = f"branch -f {worktree.branch} {last[:12]}"
        raise WorktreeConflict(
            f"{worktree.branch}: has commits that AgentOS did not make; merge it, or"
            f" keep them by git branch NEW-NAME {worktree.branch} and go back by git -C"
            f" {worktree.repository} {way_back}, and start again"
        )


def find_free_tip(users: Git, worktree: Worktree) -> str:
    """Return the tip of the item's branch in the user's repository, empty if there is
    none; refuse a branch that cannot be made or is checked out.
    """
    branches = refs_below(users, _BRANCHES_REF)
    if _BRANCHES_REF in branches:
        raise WorktreeConflict(
            f"the branch {BRANCHES} is in the way of {worktree.branch}; rename it: git"
            f" branch -m {BRANCHES} other-name"
        )
    tip = branches.get(worktree.branch_ref, "")
    if not tip:
        return ""
    arguments = ("for-each-ref", "--format=%(worktreepath)", "--")
    place = users.line(*arguments, worktree.branch_ref)
    if place and Path(place) != worktree.path:
        raise WorktreeConflict(
            f"{worktree.branch}: is checked out in {place}; check out another branch"
            " there and start again"
        )
    return tip


def _check_place(users: Git, worktree: Worktree) -> None:
    """Refuse a folder that is not ours."""
    path = worktree.path
    is_other = path.exists() and not path.is_dir()
    if is_other or path.is_symlink():
        raise WorktreeConflict(
            f"{path}: is in the place of the worktree; move it away and start again"
        )
    if worktree.is_ours.exists():
        return
    if not _has_files(path):
        return
    if find_old_entry(users, path, worktree.branch) is None:
        raise WorktreeConflict(
            f"{path}: is there and is not a worktree of {worktree.repository}; move it"
            " away and start again"
        )


def _take_over(git: Git, users: Git, worktree: Worktree) -> None:
    """Copy the item's refs from the user's repository: delivered work, and snapshots of
    versions that built there.
    """
    kept = refs_below(users, f"{worktree.refs}/")
    commits = set(kept.values())
    recorded = read_record(users, worktree)
    if recorded is not None:
        kept[recorded.branch_ref] = read_ref(users, recorded.branch_ref)
        commits |= {kept[recorded.branch_ref], recorded.base}
    if not kept:
        return
    bring(worktree, commits)
    changes = []
    present = refs_below(git, "refs/")
    for ref, commit in kept.items():
        old = present.get(ref, "")
        changes.append((ref, commit, old))
    _change(git, *changes)


def _begin(git: Git, both: Git, known: Worktree | None, wanted: Worktree) -> Worktree:
    """Start the branch at the new base, unless it has unmerged work.

    Without work of its own it starts at that base. Merged work stays in its history: it
    starts at the base joined with that work. If work is unmerged, `_find_start` returns
    nothing, and base and branch stay as they were.
    """
    start = wanted.base
    opened = wanted
    if known is not None:
        opened = replace(known, base=start)
        tip = read_ref(both, known.branch_ref)
        if tip:
            start = _find_start(both, known, tip, start)
            opened = replace(known, base=start or known.base)
            start = start or tip
    bring(opened, [opened.base, start])
    note = opened.record_ref
    record = write_record(git, opened)
    present = refs_below(git, "refs/")
    old_record = present.get(note, "")
    old_start = present.get(opened.branch_ref, "")
    _change(git, (note, record, old_record), (opened.branch_ref, start, old_start))
    return opened


def _find_start(git: Git, worktree: Worktree, tip: str, base: str) -> str:
    """Return the commit to start the branch from, empty if it has unmerged work.

    Work that was merged as other commits stays in the history, with the files of the
    base. So the branch can still be pushed without force to where it was pushed before.
    """
    if tip == worktree.base:
        work = latest_commit(git, worktree.item)
        if not work or not is_ancestor(git, work, tip):
            return base
    else:
        work = tip
        head = resolve_commit(git)
        if not is_ancestor(git, tip, head) and not is_taken_up(git, head, tip):
            return ""
    if is_ancestor(git, work, base):
        return base
    message = f"Go on with item {worktree.item} where its work was merged\n"
    return join(git, base, [work], message)


def _fill(git: Git, worktree: Worktree, staging: Path) -> None:
    if not _has_files(worktree.path):
        worktree.unfilled.touch(mode=0o600)
    worktree.is_ours.touch(mode=0o600)
    worktree.path.mkdir(mode=0o755, exist_ok=True)
    if worktree.unfilled.exists():
        latest = read_latest(git, worktree)
        commit = latest or read_ref(git, worktree.branch_ref)
        bring_back(git, worktree, commit, staging)
        worktree.unfilled.unlink(missing_ok=True)
    # Not the branch: it may have the tests of an earlier run, some of which whoever
    # writes the code must not see.
    show_copy(worktree, worktree.base, staging)


def _has_files(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def _change(git: Git, *changes: tuple[str, str, str]) -> None:
    if not change_refs(git, *changes):
        raise WorktreeConflict(
            f"{git.git_dir}: was changed by another process; start again"
        )
