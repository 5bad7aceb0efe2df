"""A worktree is opened again as it was left, and never at the cost of what is there."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentos.errors import BadInput, ItemError
from agentos.repository.git.names import branch_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.repository import find_repository, read_identity
from agentos.repository.git.run import Git, GitError, WorktreeConflict
from agentos.repository.git.snapshots import restore, take
from agentos.repository.git.worktree import Worktree
from tests.repository.git.ground import (
    FILES,
    content_of,
    finish_item,
    git,
    make_repository,
    open_item,
    place,
    write_files,
)
from tests.support import ROOT

START = {
    os.fsencode(name): ("program" if name.endswith(".sh") else "file", data)
    for name, data in FILES.items()
}


def test_the_first_time_the_branch_is_made_from_the_base(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    base = git(repository, "rev-parse", "HEAD").strip()
    write_files(repository, {"README.md": b"dirty", "later": b"1"})
    git(repository, "add", "later")
    git(repository, "commit", "-q", "-m", "Second")
    worktree = open_item(repository, base=base)
    assert worktree == Worktree(
        str(repository), str(place(repository)), "42", "agentos/42-add-a-shelf", base
    )
    assert content_of(worktree.path) == START
    assert (
        git(worktree.path, "status", "--porcelain", "--branch")
        == "## agentos/42-add-a-shelf\n"
    )
    assert (repository / "README.md").read_bytes() == b"dirty"
    assert git(repository, "branch", "--list", "agentos/*") == "", (
        "the user's repository is only read"
    )


def test_opening_again_changes_nothing_and_keeps_the_first_base(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new": b"1"})
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    assert open_item(repository, title="Another title") == worktree
    assert (worktree.path / "new").read_bytes() == b"1"


def test_work_that_begins_anew_builds_on_what_was_finished_since(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    first = open_item(repository)
    write_files(first.path, {"new": b"1"})
    attempt = take(first, "iteration-1")
    write_files(repository, {"later": b"2"})
    git(repository, "add", "later")
    git(repository, "commit", "-q", "-m", "Second")
    head = git(repository, "rev-parse", "HEAD").strip()
    worktree = open_item(repository, begins=True)
    assert (worktree.base, worktree.branch) == (head, first.branch)
    assert git(worktree.path, "rev-parse", "HEAD").strip() == head
    assert (worktree.path / "new").read_bytes() == b"1", (
        "nothing is taken away that was not asked for"
    )
    restore(worktree, head)
    assert (worktree.path / "later").read_bytes() == b"2"
    assert git(worktree.path, "status", "--porcelain") == ""
    assert open_item(repository) == worktree
    restore(worktree, attempt.commit)
    assert (worktree.path / "new").read_bytes() == b"1"
    git(repository, "commit", "-q", "--allow-empty", "-m", "Third")
    finished = finish_item(worktree, attempt.commit, "Done", 1)
    assert open_item(repository, begins=True) == worktree, (
        "what has work on it stays where it is"
    )
    assert git(worktree.path, "rev-parse", "HEAD").strip() == head
    objects = git(worktree.path, "cat-file", "--batch-all-objects", "--batch-check")
    assert head in objects
    assert finished not in objects, "whoever writes the code could read earlier tests"
    assert git(repository, "rev-parse", worktree.branch).strip() == finished


def test_a_number_that_begins_another_is_another_item(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    longer = open_item(repository, "106", "6 x")
    write_files(longer.path, {"new": b"1"})
    take(longer, "first")
    shorter = open_item(repository, "10", "6 x")
    assert shorter.branch == "agentos/10-6-x"
    assert content_of(shorter.path) == START
    shutil.rmtree(shorter.path)
    assert content_of(open_item(repository, "10").path) == START


def test_a_folder_that_vanished_is_restored_from_the_last_snapshot(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new/a": b"1", "README.md": b"changed"})
    take(worktree, "first")
    before = content_of(worktree.path)
    shutil.rmtree(worktree.path)
    assert open_item(repository) == worktree
    assert content_of(worktree.path) == before


def test_delivered_work_is_opened_when_everything_else_vanished(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new": b"1"})
    built = finish_item(worktree, take(worktree, "first").commit)
    shutil.rmtree(worktree.path.parent)
    assert open_item(repository) == worktree
    assert git(worktree.store, "rev-parse", worktree.branch).strip() == built
    assert (worktree.path / "new").read_bytes() == b"1"


def _other_folder(repository: Path) -> None:
    write_files(place(repository), {"notes.txt": b"mine"})


def _other_repository(repository: Path) -> None:
    make_repository(place(repository), {"notes.txt": b"mine"})


def _other_worktree(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "mine", str(place(repository)))
    write_files(place(repository), {"notes.txt": b"mine"})


def _file(repository: Path) -> None:
    write_files(place(repository).parent, {"42": b"mine"})


def _link(repository: Path) -> None:
    write_files(repository.parent / "elsewhere", {"notes.txt": b"mine"})
    place(repository).parent.mkdir(parents=True)
    place(repository).symlink_to(repository.parent / "elsewhere")


def _branch_with_commits(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "agentos/42-add-a-shelf")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Mine")
    git(repository, "checkout", "-q", "main")


def _branch_in_use(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "agentos/42-add-a-shelf")


def _branch_in_the_way(repository: Path) -> None:
    git(repository, "branch", "agentos")


@pytest.mark.parametrize(
    "plant",
    [
        *(_other_folder, _other_repository, _other_worktree, _file, _link),
        *(_branch_with_commits, _branch_in_use, _branch_in_the_way),
    ],
)
def test_what_is_not_ours_is_left_as_it_is(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    repository = make_repository(tmp_path / "repo")
    plant(repository)

    def look() -> object:
        files = {
            path: data
            for path, data in content_of(tmp_path).items()
            if b"/.git/" not in path
        }
        return (
            files,
            git(repository, "for-each-ref"),
            git(repository, "worktree", "list"),
        )

    before = look()
    with pytest.raises(ItemError) as caught:
        open_item(repository)
    assert "\n" not in str(caught.value)
    assert look() == before


def test_a_branch_that_the_user_went_on_with_is_not_reset(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    finish_item(worktree, take(worktree, "done").commit)
    git(repository, "checkout", "-q", worktree.branch)
    git(repository, "commit", "-q", "--allow-empty", "-m", "By hand")
    git(repository, "checkout", "-q", "main")
    tip = git(repository, "rev-parse", worktree.branch)
    for begins in (False, True):
        with pytest.raises(
            WorktreeConflict, match="has commits that AgentOS did not make"
        ):
            open_item(repository, begins=begins)
    assert git(repository, "rev-parse", worktree.branch) == tip


def test_whatever_is_in_place_of_the_shown_repository_is_replaced(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new": b"1"})
    before = content_of(worktree.path)
    shown = worktree.path / ".git"

    def plant_link() -> None:
        shown.symlink_to(repository / ".git")

    def plant_file() -> None:
        shown.write_bytes(b"gitdir: /nowhere\n")

    def plant_repository() -> None:
        git(worktree.path, "init", "-q", ".")
        shown.chmod(0)

    for plant in (plant_link, plant_file, plant_repository, lambda: None):
        if shown.is_symlink() or shown.is_file():
            shown.unlink()
        else:
            shutil.rmtree(shown)
        plant()
        assert open_item(repository) == worktree
        assert content_of(worktree.path) == before
        assert git(worktree.path, "status", "--porcelain") == "?? new\n"
    assert git(repository, "fsck", "--strict") == ""


def test_the_shown_repository_has_the_base_and_nothing_else(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    secret = git(repository, "rev-parse", "HEAD").strip()
    write_files(repository, {"README.md": b"# Shelf, again\n"})
    git(repository, "commit", "-q", "-a", "-m", "Second")
    git(repository, "remote", "add", "origin", "https://user:key@example.org/x.git")
    git(repository, "config", "user.signingKey", "key")
    git(repository, "tag", "v1")
    (repository / ".git/hooks").mkdir(exist_ok=True)
    (repository / ".git/hooks/post-checkout").write_text("#!/bin/sh\n")
    head = git(repository, "rev-parse", "HEAD").strip()
    worktree = open_item(repository)
    folder = worktree.path
    assert git(folder, "status", "--porcelain", "--branch") == f"## {worktree.branch}\n"
    assert git(folder, "log", "--format=%H") == f"{head}\n"
    assert git(folder, "for-each-ref", "--format=%(refname)").split() == [
        worktree.branch_ref
    ]
    assert git(folder, "cat-file", "-t", secret, check=False) == ""
    objects = git(
        folder, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects"
    )
    listed = git(repository, "rev-list", "--objects", "--no-walk", "HEAD")
    assert sorted(objects.split()) == sorted(
        line.split(" ")[0] for line in listed.split("\n")[:-1]
    )
    assert git(folder, "remote") == ""
    assert "key" not in (folder / ".git/config").read_text()
    assert not (folder / ".git/hooks").exists()
    assert not (folder / ".git/objects/info/alternates").exists()
    assert git(folder, "fsck", "--strict") == ""


def test_a_lock_that_a_killed_git_left_is_removed(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    stale = worktree.store / "refs/agentos/42/first.lock"
    stale.touch()
    (worktree.store / "packed-refs.lock").touch()
    assert take(worktree, "first").ref == "refs/agentos/42/first"
    assert not stale.exists()


def test_a_worktree_of_an_earlier_version_is_gone_on_with(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    base = git(repository, "rev-parse", "HEAD").strip()
    branch = "agentos/42-add-a-shelf"
    note = f"Opened item 42\n\nItem: 42\nBranch: {branch}\nBase: {base}\n"
    git(repository, "worktree", "add", "-q", "-b", branch, str(place(repository)))
    tree = f"{base}^{{tree}}"
    opened = git(repository, "commit-tree", tree, "-p", base, "-m", note).strip()
    git(repository, "update-ref", "refs/agentos/42/opened", opened)
    write_files(place(repository), {"saved.py": b"1"})
    git(place(repository), "add", "-A")
    saved = git(place(repository), "stash", "create").strip()
    git(repository, "update-ref", "refs/agentos/42/iteration-1", saved)
    git(repository, "update-ref", "refs/agentos/42/latest", saved)
    write_files(place(repository), {"unsaved.py": b"2"})
    before = content_of(place(repository))
    worktree = open_item(repository)
    assert (worktree.branch, worktree.base) == (branch, base)
    assert content_of(worktree.path) == before
    restored = restore(worktree, saved)
    assert restored.saved is not None
    assert sorted(content_of(worktree.path)) == sorted([*START, b"saved.py"])
    finish_item(worktree, saved)
    assert git(repository, "worktree", "list").count("\n") == 1
    assert git(repository, "show", f"{branch}:saved.py") == "1"
    git(repository, "checkout", "-q", branch)


def _no_repository(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _no_commit(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", ".")
    return folder


def _bare(folder: Path) -> Path:
    make_repository(folder.parent / "source")
    git(folder.parent, "clone", "-q", "--bare", "source", str(folder))
    return folder


def _inside_git(folder: Path) -> Path:
    return make_repository(folder) / ".git"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_no_repository, "is not in a git repository; run git init"),
        (_no_commit, "has no commit yet; commit something"),
        (_bare, "is a bare repository; clone it"),
        (_inside_git, "is not in the tree of its repository"),
        (lambda folder: folder / "gone", "is not a folder"),
    ],
)
def test_a_repository_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, make: Callable[[Path], Path], says: str
) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        open_item(make(tmp_path / "repo"))
    assert "\n" not in str(caught.value)


def _detached(folder: Path) -> Path:
    make_repository(folder)
    git(folder, "checkout", "-q", "--detach")
    return folder


def _shallow(folder: Path) -> Path:
    source = make_repository(folder.parent / "source")
    git(source, "commit", "-q", "--allow-empty", "-m", "Second")
    git(folder.parent, "clone", "-q", "--depth=1", f"file://{source}", str(folder))
    return folder


def _linked(folder: Path) -> Path:
    source = make_repository(folder.parent / "source")
    git(source, "worktree", "add", "-q", "-b", "side", str(folder))
    return folder


def _merging(folder: Path) -> Path:
    make_repository(folder)
    git(folder, "checkout", "-q", "-b", "side")
    write_files(folder, {"conflict": b"1"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "One")
    git(folder, "checkout", "-q", "main")
    write_files(folder, {"conflict": b"2"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Two")
    git(folder, "merge", "side", check=False)
    assert (folder / ".git/MERGE_HEAD").exists()
    return folder


def _subfolder(folder: Path) -> Path:
    return make_repository(folder) / "shelf"


@pytest.mark.parametrize("make", [_detached, _shallow, _linked, _merging, _subfolder])
def test_an_unusual_repository_is_used(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    repository = make(tmp_path / "repo")
    worktree = open_worktree(
        repository, tmp_path / "home/42", "42", branch_of("42", "x")
    )
    assert set(START) <= set(content_of(worktree.path))
    assert find_repository(repository).prefix == (
        "shelf/" if make is _subfolder else ""
    )
    write_files(worktree.path, {"new": b"1"})
    take(worktree, "first")
    shutil.rmtree(worktree.path)
    open_worktree(repository, tmp_path / "home/42", "42", branch_of("42", "x"))
    assert (worktree.path / "new").read_bytes() == b"1"


@pytest.mark.parametrize(
    "name",
    [
        " with space ",
        "new\nline",
        "caf\udce9",
        "--upload-pack=touch x",
        "$(touch x)",
        ":x",
    ],
)
def test_an_unusual_path_is_used(tmp_path: Path, name: str) -> None:
    repository = make_repository(tmp_path / name / "repo" / name)
    worktree = open_worktree(
        repository, tmp_path / name / "home" / "42", "42", branch_of("42", "x")
    )
    write_files(worktree.path, {"new": b"1"})
    take(worktree, "first")
    shutil.rmtree(worktree.path)
    assert (
        open_worktree(
            repository, tmp_path / name / "home" / "42", "42", worktree.branch
        )
        == worktree
    )
    assert content_of(worktree.path) == START | {b"new": ("file", b"1")}
    assert git(worktree.path, "status", "--porcelain") == "?? new\n"


@pytest.mark.slow
def test_ten_processes_open_ten_items_at_once(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    code = (
        "import sys; from pathlib import Path; from tests.repository.git.ground import open_item, write_files;"
        "from agentos.repository.git.snapshots import take;"
        "w = open_item(Path(sys.argv[1]), sys.argv[2]);"
        "write_files(w.path, {'new': sys.argv[2].encode()}); take(w, 'first')"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(repository), str(number)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
        )
        for number in range(100, 110)
    ]
    said = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 10, said
    for number in range(100, 110):
        folder = place(repository, str(number))
        store = folder.with_name(f".{number}.git")
        assert git(store, "show", f"refs/agentos/{number}/first:new") == str(number)
    assert git(repository, "for-each-ref", "refs/agentos", "refs/heads/agentos") == ""


def test_git_that_does_not_end_is_ended(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    ours = Git(repository / ".git", repository)
    with pytest.raises(GitError, match="did not end within"):
        _read_late(ours)


def _read_late(ours: Git) -> None:
    # It waits for its input, which does not come: the pipe stays open and empty.
    never = threading.Event()
    with ours.start("cat-file", "--batch", data=_wait(never), timeout=0.2) as output:
        output.read()
        never.set()


def _wait(event: threading.Event) -> Iterator[bytes]:
    event.wait()
    yield b""


def test_what_git_starts_ends_with_it(tmp_path: Path) -> None:
    """A bundle is written by a command that git starts."""
    large = random.Random(1).randbytes(2_000_000)
    repository = make_repository(tmp_path / "repo", {"large": large})
    git_here = find_repository(repository).git()
    with pytest.raises(GitError, match="gave more than 500,000 bytes"):
        git_here.run("bundle", "create", "--quiet", "-", "HEAD", limit=500_000)


def test_output_is_bounded(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    with pytest.raises(GitError, match="gave more than 5 bytes"):
        Git(repository / ".git", repository).run("log", limit=5)


def test_who_is_not_known_to_git_is_called_agentos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "repo")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    assert read_identity(find_repository(repository)) == (
        "AgentOS",
        "agentos@localhost",
    )
    (tmp_path / ".gitconfig").write_text(
        "[user]\n\tname = Jo Doe\n\temail = jo@example.org\n"
    )
    assert read_identity(find_repository(repository)) == ("Jo Doe", "jo@example.org")
    git(repository, "config", "user.name", "<>")
    assert read_identity(find_repository(repository)) == (
        "AgentOS",
        "agentos@localhost",
    )
