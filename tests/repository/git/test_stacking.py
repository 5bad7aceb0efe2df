"""What an item builds on follows what the user merged, in whatever way that was
done.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agentos.repository.git.cleanup import remove_worktree
from agentos.repository.git.merging import adds_nothing
from agentos.repository.git.repository import find_repository
from agentos.repository.git.run import WorktreeConflict
from agentos.repository.git.snapshots import restore, take
from agentos.repository.git.stacking import find_base
from agentos.repository.git.worktree import Worktree
from tests.repository.git.ground import (
    finish_item,
    git,
    make_repository,
    open_item,
    write_files,
)
from tests.support import ROOT

PRICE = b"def price(count):\n    if count < 0:\n        raise ValueError('no count')\n    return count * 10\n"
EDITED = PRICE.replace(b"no count", b"a count is needed")
TEST = (
    b"from shelf.price import price\n\n\ndef test_price():\n    assert price(2) == 20\n"
)
WORK = {"shelf/price.py": PRICE, "tests/test_price.py": TEST}


def finish(
    repository: Path,
    item: str,
    files: Mapping[str, bytes],
    builds_on: Sequence[str] = (),
    *,
    begins: bool = False,
) -> Worktree:
    """Build an item of these files on top of others, as the workflow does."""
    worktree = open_item(repository, item, begins=begins, builds_on=builds_on)
    restore(worktree, worktree.base)
    write_files(worktree.path, files)
    finish_item(
        worktree, take(worktree, "done").commit, f"Implement {item}", 1_700_000_000
    )
    return worktree


def commit(repository: Path, message: str, files: Mapping[str, bytes]) -> str:
    """Commit files as the user does; return the commit."""
    write_files(repository, files)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", message)
    return resolve(repository)


def squash(
    repository: Path, worktree: Worktree, files: Mapping[str, bytes] | None = None
) -> str:
    """Merge a branch as one commit of the user's, with changes and resolved conflicts
    in that very commit.
    """
    git(repository, "merge", "-q", "--squash", worktree.branch, check=files is None)
    return commit(repository, f"Item {worktree.item}", files or {})


def resolve(repository: Path, revision: str = "HEAD") -> str:
    return git(repository, "rev-parse", "--verify", revision).strip()


def is_inside(repository: Path, old: str, new: str) -> bool:
    return git(repository, "merge-base", old, new).strip() == resolve(repository, old)


def lines_of_base(repository: Path, *items: str) -> tuple[str, list[str]]:
    said: list[str] = []
    return find_base(find_repository(repository).git(), items, said.append), said


def test_a_squashed_item_is_in_the_head_and_nothing_is_said(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    commit(repository, "Elsewhere", {"other": b"1"})
    first = finish(repository, "1", WORK)
    squashed = squash(repository, first)
    ours = find_repository(repository).git()
    assert adds_nothing(ours, squashed, resolve(repository, first.branch))
    assert not adds_nothing(ours, first.base, resolve(repository, first.branch))
    assert lines_of_base(repository, "1") == (squashed, [])


def test_a_squashed_item_that_was_edited_since_counts_as_it_is_in_the_head(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    squash(repository, finish(repository, "1", WORK))
    commit(repository, "Better words", {"shelf/price.py": EDITED})
    head = commit(repository, "Elsewhere", {"other": b"1"})
    base, said = lines_of_base(repository, "1")
    assert base == head
    assert said == [
        "item 1 is in the head already and was changed there; this one builds on it as it is"
    ]


def test_what_the_user_took_out_again_after_the_merge_does_not_come_back(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    squash(repository, finish(repository, "1", WORK))
    git(repository, "rm", "-q", "tests/test_price.py")
    head = commit(repository, "No such test", {})
    assert lines_of_base(repository, "1")[0] == head


def test_a_rebased_item_of_odd_names_is_recognised(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    odd = {
        ":(top)x": b"1\n",
        "new\nline.py": b"2\n",
        "*.py": b"3\n",
        "caf\udce9": b"4\n",
    }
    first = finish(repository, "1", odd)
    commit(repository, "Elsewhere", {"other": b"1"})
    git(repository, "cherry-pick", first.branch)
    head = commit(repository, "Edited", {":(top)x": b"one\n"})
    base, said = lines_of_base(repository, "1")
    assert (base, len(said)) == (head, 1)


def test_an_item_that_was_changed_in_the_merge_itself_is_recognised_by_its_lines(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    head = squash(repository, finish(repository, "1", WORK), {"shelf/price.py": EDITED})
    base, said = lines_of_base(repository, "1")
    assert (base, len(said)) == (head, 1)


@pytest.mark.parametrize(
    "files",
    [
        {
            "shelf/price.py": b"UNIT = 10\n\n\ndef cost():\n    return UNIT\n",
            "tests/test_price.py": TEST,
        },
        {"shelf/price.py": EDITED},
    ],
    ids=["other lines", "a file is missing"],
)
def test_a_head_that_merely_has_the_same_files_is_a_conflict(
    tmp_path: Path, files: Mapping[str, bytes]
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    commit(repository, "Mine", files)
    tip = resolve(repository, first.branch)
    with pytest.raises(
        WorktreeConflict,
        match="item 1, on which this one builds, conflicts with the head",
    ) as caught:
        find_base(find_repository(repository).git(), ["1"])
    assert "in shelf/price.py; merge it by hand (git merge " in str(caught.value)
    assert "\n" not in str(caught.value)
    git(repository, "merge", "-q", "-s", "ours", "-m", "Mine it is", tip[:12])
    assert lines_of_base(repository, "1") == (resolve(repository), [])


@pytest.mark.slow
def test_work_that_stands_on_a_squashed_item_is_merged_without_it(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    second = finish(
        repository, "2", {"shelf/price.py": PRICE + b"\n\nLIMIT = 5\n"}, ["1"]
    )
    squash(repository, first)
    head = commit(repository, "Better words", {"shelf/price.py": EDITED})
    base, said = lines_of_base(repository, "1", "2")
    assert (
        git(repository, "show", f"{base}:shelf/price.py").encode()
        == EDITED + b"\n\nLIMIT = 5\n"
    )
    assert is_inside(repository, head, base)
    assert is_inside(repository, second.branch, base)
    assert len(said) == 1
    assert lines_of_base(repository, "2", "1")[0] == base
    squash(repository, second, {"shelf/price.py": EDITED + b"\n\nLIMIT = 5\n"})
    assert find_base(find_repository(repository).git(), ["1", "2"]) == resolve(
        repository
    )


@pytest.mark.slow
def test_two_that_conflict_with_each_other_are_named(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    finish(repository, "1", {"shelf/a.py": b"A = 1\n"})
    finish(repository, "2", {"shelf/book.py": b"def title():\n    return 'two'\n"})
    finish(repository, "3", {"shelf/book.py": b"def title():\n    return 'three'\n"})
    before = git(repository, "for-each-ref")
    with pytest.raises(
        WorktreeConflict,
        match=r"items 2 and 3, .* conflict with each other in shelf/book.py",
    ) as caught:
        find_base(find_repository(repository).git(), ["1", "2", "3"])
    assert "\n" not in str(caught.value)
    assert git(repository, "for-each-ref") == before
    merged = find_base(find_repository(repository).git(), ["1", "2"])
    assert git(repository, "show", f"{merged}:shelf/a.py") == "A = 1\n"
    assert find_base(find_repository(repository).git(), ["1", "2"]) == merged


@pytest.mark.slow
@pytest.mark.parametrize(
    "manner",
    [("--ff-only",), ("--no-ff", "-m", "Merged")],
    ids=["fast-forward", "merge commit"],
)
@pytest.mark.parametrize(
    "is_cleaned", [False, True], ids=["folder there", "folder gone"]
)
def test_a_revised_design_is_built_on_the_merge_of_the_first(
    tmp_path: Path, manner: Sequence[str], is_cleaned: bool
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    tip = resolve(repository, first.branch)
    git(repository, "merge", "-q", *manner, first.branch)
    head = commit(repository, "Revise", {"other": b"1"})
    if is_cleaned:
        remove_worktree(first)
    assert open_item(repository, "1") == first, "what is resumed stays where it is"
    again = finish(
        repository, "1", {"shelf/price.py": EDITED, "other": b"1"}, begins=True
    )
    assert (again.base, again.branch) == (head, first.branch)
    assert resolve(repository, f"{first.branch}^") == head
    assert (
        git(repository, "diff", "--name-only", head, first.branch) == "shelf/price.py\n"
    )
    assert resolve(repository, "refs/agentos/1/committed-1") == tip
    assert resolve(repository, "refs/agentos/1/committed-2") == resolve(
        repository, first.branch
    )
    assert git(again.path, "status", "--porcelain") == ""
    assert open_item(repository, "1", begins=True) == again, (
        "the new work is not merged"
    )


@pytest.mark.parametrize(
    "edit", [{}, {"shelf/price.py": EDITED}], ids=["as it was", "edited"]
)
def test_a_revised_design_is_built_on_the_squash_and_the_branch_is_not_taken_back(
    tmp_path: Path, edit: Mapping[str, bytes]
) -> None:
    repository = make_repository(tmp_path / "repo")
    git(tmp_path, "init", "-q", "--bare", "far.git")
    first = finish(repository, "1", WORK)
    tip = resolve(repository, first.branch)
    git(repository, "push", "-q", str(tmp_path / "far.git"), first.branch)
    squash(repository, first)
    head = commit(repository, "Revise", {"other": b"1", **edit})
    moved = open_item(repository, "1", begins=True)
    assert git(moved.store, "diff", "--name-only", head, moved.base) == ""
    assert git(
        moved.store, "rev-parse", f"{moved.base}^1", f"{moved.base}^2"
    ).split() == [head, tip]
    assert open_item(repository, "1", begins=True) == moved
    later = commit(
        repository,
        "Revise once more",
        {"other": b"2", "shelf/price.py": PRICE + b"# unit\n"},
    )
    again = finish(
        repository, "1", {"shelf/price.py": EDITED, "other": b"2"}, begins=True
    )
    assert git(
        repository, "rev-parse", f"{again.base}^1", f"{again.base}^2"
    ).split() == [later, tip]
    assert (
        git(repository, "diff", "--name-only", later, first.branch)
        == "shelf/price.py\n"
    )
    assert resolve(repository, "refs/agentos/1/committed-2") == resolve(
        repository, first.branch
    )
    git(repository, "push", "-q", str(tmp_path / "far.git"), first.branch)
    git(repository, "merge", "-q", "--ff-only", first.branch)


@pytest.mark.slow
def test_work_that_was_not_merged_stays_where_it_is(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    finish(repository, "2", {"shelf/price.py": EDITED}, ["1"])
    commit(repository, "Elsewhere", {"other": b"1"})
    base = find_base(find_repository(repository).git(), ["2"])
    assert open_item(repository, "1", base=base, begins=True) == first, (
        "another item is not the head"
    )
    again = finish(
        repository, "1", {"shelf/price.py": PRICE + b"# more\n"}, begins=True
    )
    assert again == first
    assert (
        git(repository, "rev-list", "--count", f"{first.base}..{first.branch}") == "2\n"
    )


def test_a_branch_with_commits_of_the_users_is_not_moved_by_a_merge(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    git(repository, "checkout", "-q", first.branch)
    git(repository, "commit", "-q", "--allow-empty", "-m", "By hand")
    git(repository, "checkout", "-q", "main")
    squash(repository, first)
    before = git(repository, "for-each-ref")
    with pytest.raises(WorktreeConflict, match="has commits that AgentOS did not make"):
        open_item(repository, "1", begins=True)
    assert git(repository, "for-each-ref") == before


def test_a_branch_that_is_checked_out_elsewhere_is_not_moved_under_the_user(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    git(repository, "merge", "-q", first.branch)
    commit(repository, "Revise", {"other": b"1"})
    git(repository, "worktree", "add", "-q", str(tmp_path / "mine"), first.branch)
    before = git(repository, "for-each-ref")
    with pytest.raises(WorktreeConflict, match="is checked out in"):
        open_item(repository, "1", begins=True)
    assert git(repository, "for-each-ref") == before
    assert git(tmp_path / "mine", "status", "--porcelain") == ""


def test_what_was_committed_before_is_on_the_branch_again_and_numbers_go_on(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    tip = resolve(repository, first.branch)
    git(repository, "update-ref", first.branch_ref, first.base)
    assert finish_item(first, tip, "Implement 1", 1_700_000_000) == tip
    assert resolve(repository, first.branch) == tip
    finish(repository, "1", {"shelf/price.py": EDITED})
    git(repository, "update-ref", "-d", "refs/agentos/1/committed-1")
    finish(repository, "1", {"shelf/price.py": PRICE + b"# more\n"})
    assert resolve(repository, "refs/agentos/1/committed-3") == resolve(
        repository, first.branch
    )


KILLED = """\
import os, signal, sys
from pathlib import Path
from agentos.repository.git import opening
from tests.repository.git.ground import open_item

name, moment = sys.argv[2:]
original = getattr(opening, name)

def die(*arguments):
    if moment == "after":
        original(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(opening, name, die)
open_item(Path(sys.argv[1]), "1", begins=True)
"""


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("bring", "after"),
        ("_change", "before"),
        ("_change", "after"),
        ("show_copy", "before"),
    ],
)
@pytest.mark.parametrize("is_squashed", [False, True], ids=["merged", "squashed"])
def test_a_kill_while_the_branch_moves_is_made_good_by_the_next_start(
    tmp_path: Path, name: str, moment: str, is_squashed: bool
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = finish(repository, "1", WORK)
    tip = resolve(repository, first.branch)
    if is_squashed:
        squash(repository, first)
    else:
        git(repository, "merge", "-q", first.branch)
    head = commit(repository, "Revise", {"other": b"1"})
    write_files(first.path, {"left.py": b"unsaved\n"})
    command = [sys.executable, "-c", KILLED, str(repository), name, moment]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    again = finish(
        repository, "1", {"shelf/price.py": EDITED, "other": b"1"}, begins=True
    )
    assert resolve(repository, f"{first.branch}^") == again.base
    assert git(repository, "diff", "--name-only", head, again.base) == ""
    assert (
        git(repository, "diff", "--name-only", head, first.branch) == "shelf/price.py\n"
    )
    assert is_inside(repository, tip, first.branch)
    assert git(again.path, "status", "--porcelain") == ""
    assert git(again.store, "show", "refs/agentos/1/saved:left.py") == "unsaved\n", (
        "nothing is lost on the way"
    )
