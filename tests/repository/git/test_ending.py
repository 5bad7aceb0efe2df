"""Finished work is on its branch, removed work is on a ref, and all of it can be found
again.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.repository.git.cleanup import forget_merged, remove_worktree
from agentos.repository.git.committing import commit_to_branch
from agentos.repository.git.names import branch_of, is_kept_from_git, slug_of
from agentos.repository.git.run import GitError, WorktreeConflict
from agentos.repository.git.salvage import (
    find_snapshot,
    list_snapshots,
    restore_to,
    saved_in,
)
from agentos.repository.git.snapshots import restore, take
from tests.repository.git.ground import (
    content_of,
    finish_item,
    git,
    make_repository,
    open_item,
    place,
    write_files,
)

WHEN = 1_700_000_000


def test_the_branch_gets_one_commit_with_the_files_of_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text(
        "[user]\n\tname = Jo Doe\n\temail = jo@example.org\n"
    )
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new.py": b"1\r\n", "run.sh": b"changed"})
    (worktree.path / "README.md").unlink()
    snapshot = take(worktree, "green")
    before = content_of(worktree.path)
    write_files(worktree.path, {"worse.py": b"2"})
    tip = finish_item(worktree, snapshot.commit, "Add $(touch x)\n\n--amend; `x`", WHEN)
    assert git(
        repository, "log", "--format=%an <%ae> %at %s", f"main..{worktree.branch}"
    ) == (f"Jo Doe <jo@example.org> {WHEN} Add $(touch x)\n")
    assert git(repository, "rev-parse", f"{tip}^", f"{tip}^{{tree}}").split() == [
        worktree.base,
        git(worktree.store, "rev-parse", f"{snapshot.commit}^{{tree}}").strip(),
    ]
    assert git(worktree.path, "status", "--porcelain") == ""
    assert content_of(worktree.path) == before
    assert finish_item(worktree, snapshot.commit, "Again", WHEN + 1) == tip
    assert open_item(repository) == worktree
    write_files(worktree.path, {"more": b"3"})
    second = finish_item(worktree, take(worktree, "more").commit, "", WHEN)
    assert git(repository, "log", "--format=%H %s", f"main..{worktree.branch}").split(
        "\n"
    )[0] == (f"{second} Implement item 42")


KILLED_AT_A_REF = """\
#!/bin/sh
case "$*" in
*update-ref*)
  exec strace -qq -o /dev/null -e trace=rename \\
    -e inject=rename:signal=SIGKILL:when={place} {git} "$@" ;;
*) exec {git} "$@" ;;
esac
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize(
    ("where", "place"), [("own", 2), ("users", 1), ("users", 2), ("users", 3)]
)
def test_a_kill_at_a_ref_is_repaired_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, place: int
) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new.py": b"1"})
    snapshot = take(worktree, "green")
    if where == "users":
        commit_to_branch(worktree, snapshot.commit, "Mine", WHEN)
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(KILLED_AT_A_REF.format(git=shutil.which("git"), place=place))
    program.chmod(0o755)
    with monkeypatch.context() as killing:
        killing.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        with pytest.raises((GitError, WorktreeConflict)):
            finish_item(worktree, snapshot.commit, "Mine", WHEN)
    tip = finish_item(worktree, snapshot.commit, "Mine", WHEN)
    assert git(repository, "rev-parse", worktree.branch).strip() == tip
    committed = git(repository, "for-each-ref", "--format=%(refname)", "refs/agentos")
    assert committed.split() == [
        "refs/agentos/42/committed-1",
        "refs/agentos/42/opened",
    ]
    assert open_item(repository) == worktree


def test_a_removed_worktree_is_whole_on_a_ref(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(
        worktree.path, {"new": b"1", "build/secret.env": b"2", "a.pyc": b"cache"}
    )
    before = content_of(worktree.path)
    snapshot = remove_worktree(worktree)
    assert snapshot is not None
    assert not worktree.path.exists()
    restore_to(worktree.git(), tmp_path / "again", snapshot.commit)
    assert content_of(tmp_path / "again") == {
        path: data for path, data in before.items() if path != b"a.pyc"
    }
    assert remove_worktree(worktree) is None
    open_item(repository)
    assert content_of(worktree.path)[b"new"] == ("file", b"1")


def test_a_worktree_with_what_cannot_be_saved_stays(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    make_repository(worktree.path / "inner", {"a": b"1"})
    with pytest.raises(WorktreeConflict, match=r"'inner/.git' cannot be saved"):
        remove_worktree(worktree)
    assert (worktree.path / "inner/.git/HEAD").exists()


def test_a_folder_that_is_not_our_worktree_is_never_removed(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    remove_worktree(worktree)
    write_files(worktree.path, {"notes": b"mine"})
    with pytest.raises(WorktreeConflict, match="is not a worktree of"):
        remove_worktree(worktree)
    assert (worktree.path / "notes").read_bytes() == b"mine"


def test_only_what_is_merged_or_asked_for_is_forgotten(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    others = open_item(repository, "421")
    take(others, "green")
    worktree = open_item(repository)
    write_files(worktree.path, {"new": b"1"})
    snapshot = take(worktree, "green")
    write_files(worktree.path, {"new": b"2"})
    take(worktree, "other")
    tip = finish_item(worktree, snapshot.commit, "Add", WHEN)
    assert forget_merged(repository, place(repository), "42") == ()
    git(repository, "merge", "-q", "--ff-only", tip)
    assert forget_merged(repository, place(repository), "42") == ()
    remove_worktree(worktree)
    assert "refs/agentos/42/green" in forget_merged(repository, place(repository), "42")
    assert not worktree.store.exists()
    assert git(repository, "for-each-ref", "refs/agentos") == ""
    kept = list_snapshots(repository, place(repository).parent)
    assert {snapshot.item for snapshot in kept} == {"421"}


def test_everything_that_was_saved_is_listed(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"new": b"1"})
    first = take(worktree, "red")
    write_files(worktree.path, {"more": b"2"})
    second = take(worktree, "green")
    restore(worktree, first.commit)
    finish_item(worktree, first.commit, "Add", WHEN)
    take(open_item(repository, "421"), "red")
    found = {
        kept.name: kept
        for kept in list_snapshots(repository, place(repository).parent, "42")
    }
    assert {name: (kept.files, kept.is_on_branch) for name, kept in found.items()} == {
        "red": (5, True),
        "green": (6, False),
        "committed-1": (5, True),
    }
    assert {kept.branch for kept in found.values()} == {worktree.branch}
    assert found["green"].commit == second.commit
    assert {
        kept.item for kept in list_snapshots(repository, place(repository).parent)
    } == {"42", "421"}
    assert find_snapshot(worktree.git(), "42") == first.commit
    with pytest.raises(BadInput, match="nothing was saved under 'gre'"):
        find_snapshot(worktree.git(), "42", "gre")


def test_what_an_earlier_version_saved_in_the_users_repository_is_listed_and_written(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    git(repository, "update-ref", "refs/agentos/7/iteration-1", "HEAD")
    worktrees = place(repository).parent
    found = list_snapshots(repository, worktrees)
    assert [(kept.item, kept.name) for kept in found] == [("7", "iteration-1")]
    saved = saved_in(repository, worktrees, "7")
    restore_to(saved, tmp_path / "out", find_snapshot(saved, "7", "iteration-1"))
    assert (tmp_path / "out/README.md").read_bytes() == b"# Shelf\n"


def test_a_snapshot_is_written_only_where_nothing_is(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    (worktree.path / "link").symlink_to("/etc/passwd")
    snapshot = take(worktree, "red")
    before = content_of(worktree.path)
    assert restore_to(worktree.git(), tmp_path / "out", snapshot.commit) == 5
    assert content_of(tmp_path / "out") == before
    with pytest.raises(BadInput, match="is there already"):
        restore_to(worktree.git(), tmp_path / "out", snapshot.commit)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="is there already"):
        restore_to(worktree.git(), tmp_path / "dangling", snapshot.commit)
    with pytest.raises(BadInput, match="make it first"):
        restore_to(worktree.git(), tmp_path / "a/b", snapshot.commit)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Add a shelf", "add-a-shelf"),
        ("", "work"),
        ("日本語", "work"),
        ("Größe & Café", "groe-cafe"),
        ("; $(touch x) `y` --upload-pack=z\n", "touch-x-y-upload-pack-z"),
        ("../../.git/config.lock", "git-config-lock"),
        ("--force", "force"),
        ("word " * 100, "word-word-word-word-word-word-word-word"),
        ("x" * 500, "x" * 40),
    ],
)
def test_a_title_becomes_a_short_harmless_name(title: str, slug: str) -> None:
    assert slug_of(title) == slug
    assert branch_of("42", title) == f"agentos/42-{slug}"


@pytest.mark.parametrize(
    "item", ["", "../x", "a b", "42\n", "a/b", "x" * 65, "a.lock", "$(x)"]
)
def test_an_id_that_is_no_part_of_a_ref_is_refused(item: str) -> None:
    with pytest.raises(BadInput):
        branch_of(item, "x")


@pytest.mark.parametrize(
    "name",
    [b".git", b".GIT", b".git ", b".git...", b"git~1", b"GIT~1", b".git:x", b"x\\.git"],
)
def test_every_spelling_of_the_git_folder_is_known(name: bytes) -> None:
    assert is_kept_from_git(name)
    assert is_kept_from_git(".g‌it".encode())
    assert not is_kept_from_git(b".gitignore")


@pytest.mark.parametrize(
    "name",
    [
        *(b".gitmodules", b".GITMODULES", b".gitmodules .", b".gitmodules:x"),
        *(b"gitmod~1", b"GITMOD~4. ", b"gi7eba~1", b"gi7eb~10", b"GI7EBA~9:$x"),
        *(b"~1000000", b"g~100000"),
    ],
)
def test_every_spelling_of_the_list_of_submodules_is_known(name: bytes) -> None:
    assert is_kept_from_git(name, is_link=True)


@pytest.mark.parametrize(
    "name",
    [
        *(b".gitmodules.bak", b".gitmodules2", b"gitmod~x.py", b"gitmod~5"),
        *(b"gi7ebook.py", b"gi7eba~1.py", b"gi7eb~1", b"gi7eba~12", b"g~100000.txt"),
    ],
)
def test_a_name_that_only_begins_like_it_is_not(name: bytes) -> None:
    assert not is_kept_from_git(name, is_link=True)
