"""Finished work reaches the user's repository as checked objects, or not at all."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from agentos.errors import BadInput
from agentos.repository.git.committing import commit_to_branch
from agentos.repository.git.delivery import BUNDLE_LIMIT, make_bundle
from agentos.repository.git.run import WorktreeConflict
from agentos.repository.git.snapshots import restore, take
from agentos.repository.git.worktree import Worktree
from tests.repository.git.ground import (
    bundle_item,
    deliver_item,
    finish_item,
    git,
    make_repository,
    open_item,
    tip_of,
    write_files,
)
from tests.support import wait_until

WHEN = 1_700_000_000


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    """An item whose work is committed in its own repository only."""
    repository = make_repository(tmp_path / "repo")
    opened = open_item(repository)
    write_files(opened.path, {"new.py": b"1\n"})
    commit_to_branch(opened, take(opened, "green").commit, "Add", WHEN)
    return opened


def state(worktree: Worktree) -> tuple[str, str]:
    """Return the refs and the objects of the user's repository."""
    repository = Path(worktree.repository)
    objects = git(
        repository, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects"
    )
    return git(repository, "for-each-ref"), objects


def bundle_of(worktree: Worktree, *arguments: str) -> bytes:
    """Return a bundle as a hostile worker could make one."""
    command = ["git", "bundle", "create", "--quiet", "-", *arguments]
    made = subprocess.run(command, cwd=worktree.store, check=True, capture_output=True)
    return made.stdout


def commit_tree(worktree: Worktree, listing: str, *parents: str) -> str:
    """Commit a tree to the item's branch that no snapshot would have."""
    made = subprocess.run(
        ["git", "mktree", "--missing"],
        cwd=worktree.store,
        input=listing.encode(),
        check=True,
        capture_output=True,
    )
    options = [part for parent in parents for part in ("-p", parent)]
    tree = made.stdout.decode().strip()
    commit = git(worktree.store, "commit-tree", tree, *options, "-m", "Bad").strip()
    git(worktree.store, "update-ref", worktree.branch_ref, commit)
    return commit


def test_the_work_arrives_whole_and_once(worktree: Worktree) -> None:
    repository = Path(worktree.repository)
    assert not git(repository, "branch", "--list", worktree.branch)
    bundle = bundle_item(worktree)
    deliver_item(worktree, bundle)
    assert git(repository, "show", f"{worktree.branch}:new.py") == "1\n"
    assert git(repository, "rev-parse", f"{worktree.branch}^").strip() == worktree.base
    after = state(worktree)
    deliver_item(worktree, bundle)
    assert state(worktree) == after
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""


def test_work_that_is_there_already_makes_no_bundle(worktree: Worktree) -> None:
    deliver_item(worktree, bundle_item(worktree))
    again = open_item(Path(worktree.repository), begins=True)
    assert finish_item(again, git(again.store, "rev-parse", again.branch).strip())


def test_nothing_to_deliver_is_believed_only_if_the_work_is_there(
    worktree: Worktree,
) -> None:
    before = state(worktree)
    with pytest.raises(BadInput, match=r"is on no branch of .* run again"):
        deliver_item(worktree, b"")
    assert state(worktree) == before
    deliver_item(worktree, bundle_item(worktree))
    deliver_item(worktree, b"")


def test_a_bundle_of_another_commit_than_the_proven_one_changes_nothing(
    worktree: Worktree,
) -> None:
    before = state(worktree)
    bundle = bundle_item(worktree)
    with pytest.raises(BadInput, match="another commit than the one that was proven"):
        deliver_item(worktree, bundle, worktree.base)
    with pytest.raises(WorktreeConflict, match="which was built; start again"):
        make_bundle(worktree, worktree.base)
    assert state(worktree) == before


def _second_ref(worktree: Worktree) -> bytes:
    git(worktree.store, "update-ref", "refs/heads/main", worktree.branch)
    return bundle_of(worktree, worktree.branch_ref, "main", "--not", worktree.base)


def _other_branch(worktree: Worktree) -> bytes:
    git(worktree.store, "branch", "agentos/421-x", worktree.branch)
    return bundle_of(worktree, "agentos/421-x", "--not", worktree.base)


def _own_main(worktree: Worktree) -> bytes:
    git(worktree.store, "update-ref", "refs/heads/main", worktree.branch)
    return bundle_of(worktree, "main", "--not", worktree.base)


def _cut_off(worktree: Worktree) -> bytes:
    return bundle_item(worktree)[:-30]


def _no_bundle(worktree: Worktree) -> bytes:
    return b"# v2 git bundle" + bundle_item(worktree)


def _unrelated(worktree: Worktree) -> bytes:
    listing = git(worktree.store, "ls-tree", worktree.base)
    commit_tree(worktree, listing)
    return bundle_of(worktree, worktree.branch_ref)


def _two_commits(worktree: Worktree) -> bytes:
    tip = git(worktree.store, "rev-parse", worktree.branch).strip()
    commit_tree(worktree, git(worktree.store, "ls-tree", worktree.base), tip)
    return bundle_item(worktree)


def _with_entry(mode: str, kind: str, name: str) -> Callable[[Worktree], bytes]:
    def make(worktree: Worktree) -> bytes:
        content = git(worktree.store, "rev-parse", f"{worktree.base}:README.md").strip()
        if kind == "commit":
            content = worktree.base
        listing = git(worktree.store, "ls-tree", worktree.base)
        listing += f"{mode} {kind} {content}\t{name}\n"
        commit_tree(worktree, listing, worktree.base)
        return bundle_item(worktree)

    return make


def _missing_file(worktree: Worktree) -> bytes:
    listing = git(worktree.store, "ls-tree", worktree.base)
    listing += f"100644 blob {'1' * 40}\tlost.py\n"
    commit = commit_tree(worktree, listing, worktree.base)
    ids = git(worktree.store, "rev-parse", commit, f"{commit}^{{tree}}")
    packed = subprocess.run(
        ["git", "pack-objects", "--stdout", "--quiet"],
        cwd=worktree.store,
        input=ids.encode(),
        check=True,
        capture_output=True,
    )
    header = f"# v2 git bundle\n-{worktree.base}\n{commit} {worktree.branch_ref}\n\n"
    return header.encode() + packed.stdout


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_second_ref, "has 2 refs and not one"),
        (_other_branch, "is for another branch"),
        (_own_main, "is not a branch of the form"),
        (_cut_off, "is damaged"),
        (_no_bundle, "is no git bundle"),
        (_unrelated, "has other commits than one"),
        (_two_commits, "has other commits than one"),
        (_missing_file, "is damaged|is not whole"),
        (_with_entry("160000", "commit", "lib"), "neither a file nor a link"),
        (_with_entry("100644", "blob", ".gitmodules"), "no name for a file"),
        (_with_entry("100644", "blob", "GITMOD~1"), "no name for a file"),
        (_with_entry("100644", "blob", ".GIT"), "is damaged|no name for a file"),
        (_with_entry("100644", "blob", "git~1"), "is damaged|no name for a file"),
    ],
)
def test_what_is_not_the_expected_work_changes_nothing(
    worktree: Worktree, make: Callable[[Worktree], bytes], says: str
) -> None:
    bundle = make(worktree)
    before = state(worktree)
    with pytest.raises(BadInput, match=says) as caught:
        deliver_item(worktree, bundle)
    assert "\n" not in str(caught.value)
    assert state(worktree) == before


def test_a_branch_that_was_moved_meanwhile_stays(worktree: Worktree) -> None:
    repository = Path(worktree.repository)
    git(repository, "checkout", "-q", "-b", worktree.branch)
    git(repository, "commit", "-q", "--allow-empty", "-m", "By hand")
    bundle = bundle_item(worktree)
    before = state(worktree)
    with pytest.raises(WorktreeConflict, match="is checked out in"):
        deliver_item(worktree, bundle)
    git(repository, "checkout", "-q", "main")
    with pytest.raises(WorktreeConflict, match="commits that AgentOS did not make"):
        deliver_item(worktree, bundle)
    assert state(worktree) == before
    git(repository, "branch", "-m", worktree.branch, "mine")
    deliver_item(worktree, bundle)
    assert git(repository, "show", f"{worktree.branch}:new.py") == "1\n"


def test_files_whose_names_begin_like_those_of_git_arrive(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    opened = open_item(repository)
    names = {".gitmodules.bak", "gitmod~x.py", "gi7ebook.py"}
    write_files(opened.path, dict.fromkeys(names, b"1\n"))
    (opened.path / "gitmod~y").symlink_to("README.md")
    finish_item(opened, take(opened, "done").commit)
    files = git(repository, "ls-tree", "--name-only", opened.branch).split()
    assert names | {"gitmod~y"} <= set(files)


def test_a_base_that_the_user_threw_away_is_named_and_the_item_begins_anew(
    worktree: Worktree,
) -> None:
    repository = Path(worktree.repository)
    bundle = bundle_item(worktree)
    write_files(repository, {"README.md": b"other\n"})
    git(repository, "commit", "-q", "-a", "--amend", "-m", "Other")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    with pytest.raises(BadInput) as caught:
        deliver_item(worktree, bundle)
    needed = worktree.base[:12]
    assert str(caught.value) == (
        f"item 42: what was built needs {needed}, which the repository lacks; run again"
    )
    again = open_item(repository, begins=True)
    restore(again, again.base)
    write_files(again.path, {"new.py": b"1\n"})
    finish_item(again, take(again, "green").commit)
    assert git(repository, "show", f"{again.branch}:README.md") == "other\n"


def test_work_that_is_too_large_to_be_delivered_is_one_line(tmp_path: Path) -> None:
    opened = open_item(make_repository(tmp_path / "repo"))
    large = random.Random(1).randbytes(BUNDLE_LIMIT + 1_000_000)
    write_files(opened.path, {"large.bin": large})
    commit_to_branch(opened, take(opened, "green").commit, "Add", WHEN)
    with pytest.raises(BadInput, match="more than 50 MB when packed") as caught:
        bundle_item(opened)
    assert "agentos salvage 42" in str(caught.value)


@pytest.mark.parametrize("ending", ["commit", "abort"])
def test_a_lock_of_the_users_own_git_is_waited_for(
    worktree: Worktree, ending: str
) -> None:
    repository = Path(worktree.repository)
    head = git(repository, "rev-parse", "HEAD").strip()
    bundle = bundle_item(worktree)
    with subprocess.Popen(
        ["git", "update-ref", "--stdin"],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as users:
        assert users.stdin is not None
        assert users.stdout is not None
        users.stdin.write(f"start\ncreate {worktree.branch_ref} {head}\nprepare\n")
        users.stdin.flush()
        assert users.stdout.readline() == "start: ok\n"
        assert users.stdout.readline() == "prepare: ok\n"
        with ThreadPoolExecutor() as threads:
            delivering = threads.submit(deliver_item, worktree, bundle)
            wait_until(
                lambda: delivering.done() or _moves_refs(besides=users.pid),
                "a delivery that moves the branch",
            )
            users.communicate(f"{ending}\n")
            error = delivering.exception()
    assert users.returncode == 0
    tip = git(repository, "rev-parse", worktree.branch).strip()
    if ending == "commit":
        assert isinstance(error, WorktreeConflict)
        assert "was moved by somebody else meanwhile; start again" in str(error)
        assert tip == head
    else:
        assert error is None
        assert tip == tip_of(worktree)


def _moves_refs(besides: int) -> bool:
    """Tell whether a git of this process changes refs, besides one."""
    for process in psutil.Process().children():
        with suppress(psutil.Error):
            if process.pid != besides and "update-ref" in process.cmdline():
                return True
    return False


def test_a_base_that_was_merged_for_the_item_comes_along(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    for item in ("1", "2"):
        opened = open_item(repository, item)
        write_files(opened.path, {f"item-{item}": b"x\n"})
        finish_item(opened, take(opened, "done").commit)
    before = git(repository, "rev-parse", "main").strip()
    git(repository, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
    opened = open_item(repository, "3", builds_on=["1", "2"])
    assert git(repository, "cat-file", "-t", opened.base, check=False) == ""
    write_files(opened.path, {"item-3": b"x\n"})
    finish_item(opened, take(opened, "done").commit)
    files = git(repository, "ls-tree", "--name-only", opened.branch).split()
    assert {"item-1", "item-2", "item-3"} <= set(files)
    assert git(repository, "merge-base", "main~1", opened.branch).strip() == before
    git(repository, "merge", "-q", "--ff-only", opened.branch)
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""
