"""Open the worktree of an item: made when it is new, mended when it was damaged, refused when it is not ours."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import make_private_directory
from agentos.worktrees.git import Git, WorktreeConflict
from agentos.worktrees.merging import join
from agentos.worktrees.names import BRANCHES, REFS, checked_branch, checked_item
from agentos.worktrees.registration import (
    add_entry,
    clear_index_lock,
    find_entry,
    head_of,
    mend_entry,
    mend_link,
    named_entry,
)
from agentos.worktrees.repository import (
    LOCK_FILE,
    change_refs,
    find_repository,
    is_ancestor,
    locked,
    read_ref,
    resolve_commit,
    tree_of,
)
from agentos.worktrees.snapshots import OPENED, bring_back, commit_tree, describe_item, read_latest, refs_of
from agentos.worktrees.stacking import is_taken_up, latest_commit
from agentos.worktrees.worktree import UNFILLED, Worktree, working_on


def open_worktree(
    repository: Path, folder: Path, item: str, branch: str, base: str = "HEAD", *, begins: bool = False
) -> Worktree:
    """Return the worktree of an item, with its files as they were left.

    The first time the branch is made from `base`; after that the branch and the base of the first time count, and
    what is returned says so, unless work on the item begins anew and its branch has nothing of ours, or nothing that
    has not been merged. A folder that vanished is filled from the last snapshot. Whatever is not ours (a folder in the
    way, a branch with other commits or in use elsewhere) is left untouched, and said.
    """
    checked_item(item)
    checked_branch(branch)
    found = find_repository(repository)
    git = found.git()
    make_private_directory(folder.parent)
    folder = folder.parent.resolve() / folder.name
    with locked(git, found.git_dir / LOCK_FILE, str(found.path)) as held:
        known = read_record(held, str(found.path), str(folder), item)
        worktree = known or Worktree(str(found.path), str(folder), item, branch, resolve_commit(held, base))
        with working_on(worktree) as (inner, staging):
            both = inner.holding(*held.held)
            if known and begins:
                worktree = _move_base(both, worktree, resolve_commit(held, base))
            _open(both, worktree, staging)
    return worktree


def is_opened(repository: Path, item: str) -> bool:
    """Tell whether an item has its branch and its base already, so that no other base is wanted to go on with it."""
    found = find_repository(repository)
    return read_record(found.git(), str(found.path), str(found.git_dir / "none"), item) is not None


def read_record(git: Git, repository: str, folder: str, item: str) -> Worktree | None:
    """Return what was noted when the item was first opened, None when it never was or its branch is gone."""
    commit = read_ref(git, f"{REFS}/{checked_item(item)}/{OPENED}")
    if not commit:
        return None
    text = git.run("cat-file", "commit", commit, limit=1_000_000).decode("utf-8", "replace")
    noted = dict(line.split(": ", 1) for line in text.partition("\n\n")[2].split("\n") if ": " in line)
    try:
        worktree = Worktree(repository, folder, noted["Item"], noted["Branch"], noted["Base"])
    except (KeyError, BadInput):
        return None
    return worktree if worktree.item == item and read_ref(git, worktree.branch_ref) else None


def _open(git: Git, worktree: Worktree, staging: Path) -> None:
    tip = read_ref(git, worktree.branch_ref)
    entry = _claim(git, worktree, tip)
    if not tip:
        _make_branch(git, worktree)
    # Until everything is in its place the files are those of nobody's choice, also after a kill.
    unfilled = worktree.beside(UNFILLED)
    if not (worktree.path / ".git").exists() and not unfilled.exists() and not _has_files(worktree.path):
        unfilled.touch(mode=0o600)
    if entry is None:
        entry = add_entry(git, worktree.path, worktree.branch)
    worktree.path.mkdir(mode=0o755, exist_ok=True)
    mend_link(entry, worktree.path)
    clear_index_lock(entry, worktree.path)
    if unfilled.exists():
        latest = read_latest(git, worktree)
        bring_back(git, worktree, latest or tip or worktree.base, staging)
    if unfilled.exists() or not (entry / "index").exists():
        git.at(entry, worktree.path).run("read-tree", worktree.branch_ref)
    _note(git, worktree)
    unfilled.unlink(missing_ok=True)


def _claim(git: Git, worktree: Worktree, tip: str, *, may_be_merged: bool = False) -> Path | None:
    """Return the folder's entry, mended, None when there is none; refuse where something is not ours.

    With `may_be_merged`, commits of others on the branch are fine when the head has them all.
    """
    if tip and not (may_be_merged and is_ancestor(git, tip, resolve_commit(git))):
        _check_tip(git, worktree, tip)
    entry = _find_ours(git, worktree)
    _check_place(git, worktree, entry)
    if entry is not None:
        mend_entry(entry, worktree.path, worktree.branch)
        _check_head(git, worktree, entry)
    return entry


def _has_files(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def _make_branch(git: Git, worktree: Worktree) -> None:
    if read_ref(git, f"refs/heads/{BRANCHES}"):
        raise WorktreeConflict(
            f"the branch {BRANCHES} is in the way of {worktree.branch}; rename it: git branch -m {BRANCHES} other-name"
        )
    if not change_refs(git, (worktree.branch_ref, worktree.base, "")):
        raise WorktreeConflict(f"{worktree.branch}: was made by somebody else meanwhile; start again")


def _check_head(git: Git, worktree: Worktree, entry: Path) -> None:
    head = head_of(git, entry)
    if head != worktree.branch_ref:
        now = head.removeprefix("refs/heads/") or "no branch"
        if read_ref(git, worktree.branch_ref):
            what_to_do = f"check out {worktree.branch} there"
        else:
            what_to_do = f"move it out of the way: git worktree move {worktree.folder} NEW-FOLDER"
        raise WorktreeConflict(f"{worktree.folder}: is on {now}; {what_to_do}, and start again")


def _find_ours(git: Git, worktree: Worktree) -> Path | None:
    """Return the folder's entry, also one that is lost or damaged and that its `.git` file still names."""
    entry = find_entry(git, worktree.path)
    if entry is None and not worktree.path.is_symlink():
        entry = named_entry(git, worktree.path)
    return entry


def _check_place(git: Git, worktree: Worktree, entry: Path | None) -> None:
    """Refuse a folder that is not ours, and a branch that is checked out elsewhere."""
    path = worktree.path
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise WorktreeConflict(f"{path}: is in the place of the worktree; move it away and start again")
    if entry is None and path.exists() and any(path.iterdir()):
        raise WorktreeConflict(
            f"{path}: is there and is not a worktree of {worktree.repository}; move it away and start again"
        )
    place = git.run("for-each-ref", "--format=%(worktreepath)", "--", worktree.branch_ref).removesuffix(b"\n")
    if place and Path(os.fsdecode(place)) != path:
        raise WorktreeConflict(
            f"{worktree.branch}: is checked out in {os.fsdecode(place)}; check out another branch there and start again"
        )


def _check_tip(git: Git, worktree: Worktree, tip: str) -> None:
    """Refuse a branch of that name with commits that are not ours: it is never reset."""
    ours = {kept.commit for kept in refs_of(git, worktree).values()}
    if tip != worktree.base and tip not in ours:
        last = latest_commit(git, worktree.item) or worktree.base
        raise WorktreeConflict(
            f"{worktree.branch}: has commits that AgentOS did not make; merge it, or keep them by "
            f"git branch NEW-NAME {worktree.branch} and go back by git -C {worktree.folder} reset --keep {last[:12]}, "
            "and start again"
        )


def _move_base(git: Git, worktree: Worktree, base: str) -> Worktree:
    """Have a branch begin at another commit, as what it builds on, or it itself, may have been merged since."""
    tip = read_ref(git, worktree.branch_ref)
    _claim(git, worktree, tip, may_be_merged=True)
    start = _find_start(git, worktree, tip, base)
    if start in ("", worktree.base):
        return worktree
    moved = replace(worktree, base=start)
    # Branch and note move together; until the index follows them, the folder counts as not yet filled.
    worktree.beside(UNFILLED).touch(mode=0o600)
    note = f"{worktree.refs}/{OPENED}"
    changes = ((worktree.branch_ref, start, tip), (note, _write_note(git, moved), read_ref(git, note)))
    if not change_refs(git, *changes):
        raise WorktreeConflict(f"{worktree.branch}: was changed by another process; start again")
    return moved


def _find_start(git: Git, worktree: Worktree, tip: str, base: str) -> str:
    """Return where a branch is to begin, empty when it has work on it that was not merged.

    Work that was merged as other commits stays in its history, with the files of the base: so the branch can still be
    pushed to where it was pushed before, which is never done by force.
    """
    is_bare = tip == worktree.base
    work = _finished_in(git, worktree.item, tip) if is_bare else tip
    if not is_bare and not _is_merged(git, work, resolve_commit(git)):
        return ""
    if not work or is_ancestor(git, work, base):
        return base
    return join(git, base, [work], f"Go on with item {worktree.item} where its work was merged\n")


def _finished_in(git: Git, item: str, tip: str) -> str:
    """Return the last that was put on the item's branch if a commit has it, else nothing."""
    finished = latest_commit(git, item)
    return finished if finished and is_ancestor(git, finished, tip) else ""


def _is_merged(git: Git, work: str, head: str) -> bool:
    return is_ancestor(git, work, head) or is_taken_up(git, head, work)


def _note(git: Git, worktree: Worktree) -> None:
    ref = f"{worktree.refs}/{OPENED}"
    old = read_ref(git, ref)
    if old and read_record(git, worktree.repository, worktree.folder, worktree.item) == worktree:
        return
    if not change_refs(git, (ref, _write_note(git, worktree), old)):
        raise WorktreeConflict(f"{ref}: was changed by another process; start again")


def _write_note(git: Git, worktree: Worktree) -> str:
    message = f"Opened item {worktree.item}\n\n{describe_item(worktree)}"
    return commit_tree(git, tree_of(git, worktree.base), worktree.base, message)
