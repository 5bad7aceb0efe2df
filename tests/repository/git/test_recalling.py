"""What git is asked only once: never anything that may have changed meanwhile."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.repository.git import fingerprints
from agentos.repository.git.fingerprints import configuration_files, read_fingerprints
from agentos.repository.git.repository import find_repository, resolve_commit
from agentos.repository.git.run import GitError, harden
from agentos.repository.git.storing import list_tree
from tests.repository.git.ground import FILES, git, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take files for settled although they were written a moment ago."""
    monkeypatch.setattr(fingerprints, "_SETTLED", 0.0)


def hide_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def test_a_repository_is_found_again_without_git(
    repository: Path, at_once: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = find_repository(repository)
    settings = found.git().settings
    hide_git(monkeypatch, tmp_path)
    assert find_repository(repository) == found
    assert found.git().settings == settings


def test_what_was_written_just_now_is_read_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find_repository(repository).git()
    hide_git(monkeypatch, tmp_path)
    with pytest.raises(BadInput, match="git is not installed"):
        find_repository(repository)


@pytest.mark.parametrize("way", ["git", "in place", "worktree"])
def test_a_filter_that_comes_later_is_disarmed(
    repository: Path, at_once: None, way: str
) -> None:
    if way == "worktree":
        git(repository, "config", "extensions.worktreeConfig", "true")
    assert "filter.x.clean" not in find_repository(repository).git().settings
    if way == "in place":
        config = repository / ".git" / "config"
        before = config.stat()
        with config.open("a") as file:
            file.write('[filter "x"]\n\tclean = touch stolen\n')
        os.utime(config, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        git(
            repository,
            "config",
            *(["--worktree"] if way == "worktree" else []),
            "filter.x.clean",
            "touch stolen",
        )
    assert find_repository(repository).git().settings["filter.x.clean"] == ""


def test_a_filter_in_an_included_file_is_disarmed(
    repository: Path, at_once: None, tmp_path: Path
) -> None:
    included = tmp_path / "more"
    included.write_text("[user]\n\tname = Somebody\n")
    git(repository, "config", "include.path", str(included))
    assert "filter.x.clean" not in find_repository(repository).git().settings
    included.write_text('[filter "x"]\n\tclean = touch stolen\n')
    assert find_repository(repository).git().settings["filter.x.clean"] == ""


def test_a_filter_of_a_linked_worktree_is_disarmed(
    repository: Path, at_once: None, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    entry = repository / ".git" / "worktrees" / "linked"
    assert "filter.x.clean" not in harden(entry, tmp_path / "linked").settings
    git(repository, "config", "filter.x.clean", "touch stolen")
    assert harden(entry, tmp_path / "linked").settings["filter.x.clean"] == ""


def test_another_repository_in_the_same_place_is_another_one(
    repository: Path, at_once: None, tmp_path: Path
) -> None:
    folder = repository / "shelf"
    assert find_repository(folder).prefix == "shelf/"
    git(folder, "init", "-q", "-b", "main", ".")
    assert (find_repository(folder).prefix, find_repository(folder).git_dir) == (
        "",
        folder / ".git",
    )
    shutil.rmtree(repository / ".git")
    shutil.rmtree(folder / ".git")
    with pytest.raises(BadInput, match="is not in a git repository"):
        find_repository(folder)


def test_a_repository_that_becomes_bare_or_shallow_is_seen_to(
    repository: Path, at_once: None
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert not find_repository(repository).is_shallow
    (repository / ".git" / "shallow").write_text(head)
    assert find_repository(repository).is_shallow
    git(repository, "config", "core.bare", "true")
    with pytest.raises(BadInput, match="bare repository"):
        find_repository(repository)


def test_what_leads_elsewhere_is_followed_every_time(
    repository: Path, at_once: None, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other")
    for kind in ("file", "link"):
        folder = tmp_path / kind
        folder.mkdir()
        for target in (repository, other):
            if kind == "file":
                (folder / ".git").write_text(f"gitdir: {target}/.git\n")
            else:
                (folder / ".git").unlink(missing_ok=True)
                (folder / ".git").symlink_to(target / ".git")
            assert find_repository(folder).git_dir == target / ".git"


def test_a_repository_that_comes_between_is_found(
    repository: Path, at_once: None
) -> None:
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    assert find_repository(deep).prefix == "a/b/"
    git(repository / "a", "init", "-q", "-b", "main", ".")
    assert find_repository(deep).prefix == "b/"


def test_what_is_gone_is_not_found(repository: Path, at_once: None) -> None:
    folder = repository / "shelf"
    find_repository(folder)
    find_repository(repository)
    shutil.rmtree(folder)
    with pytest.raises(BadInput, match="is not a folder"):
        find_repository(folder)
    (repository / ".git" / "HEAD").unlink()
    with pytest.raises(BadInput, match="is not in a git repository"):
        find_repository(repository)


def test_a_commit_is_listed_once(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hardened = find_repository(repository).git()
    commit = resolve_commit(hardened)
    listed = list_tree(hardened, commit)
    assert sorted(listed) == sorted(map(os.fsencode, FILES))
    listed.clear()
    hide_git(monkeypatch, tmp_path)
    assert len(list_tree(hardened, commit)) == len(FILES)


def test_a_commit_that_is_not_there_yet_is_asked_for_again(
    repository: Path, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other", {"b.txt": b"b\n"})
    commit = git(other, "rev-parse", "HEAD").strip()
    hardened = find_repository(repository).git()
    with pytest.raises(GitError):
        list_tree(hardened, commit)
    git(repository, "fetch", "-q", str(other), "main")
    assert list(list_tree(hardened, commit)) == [b"b.txt"]


def test_no_more_is_remembered_than_has_room(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered: dict[object, bytes] = {}
    monkeypatch.setattr("agentos.repository.git.run._recalled", remembered)
    monkeypatch.setattr("agentos.repository.git.run._MOST_RECALLED", 3)
    hardened = find_repository(repository).git()
    for number in range(5):
        git(repository, "commit", "-q", "--allow-empty", "-m", str(number))
        list_tree(hardened, resolve_commit(hardened))
    assert len(remembered) == 3
    monkeypatch.setattr("agentos.repository.git.run._RECALLED_SIZE", 10)
    git(repository, "commit", "-q", "--allow-empty", "-m", "last")
    list_tree(hardened, resolve_commit(hardened))
    assert len(remembered) == 3


def test_a_stamp_is_of_settled_files_only(tmp_path: Path) -> None:
    file = tmp_path / "config"
    assert read_fingerprints(file) == (None,)
    file.write_text("x")
    assert read_fingerprints(file) is None
    old = time.time() - file.stat().st_ctime
    assert old < fingerprints._SETTLED
    assert configuration_files(tmp_path) == (
        tmp_path / "commondir",
        file,
        tmp_path / "config.worktree",
    )
