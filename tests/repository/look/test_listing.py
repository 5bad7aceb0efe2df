"""Which files a repository has, as git says or by a walk."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentos.repository.look.listing import MAX_NAMES, list_files
from tests.repository.look.repositories import FILES, git, make_repository


def test_git_is_not_steered_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "repo")
    other = make_repository(tmp_path / "other", {"confidential-name.txt": ""})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert set(list_files(repository).names) == set(FILES)


@pytest.mark.slow
def test_a_repository_of_50_000_files_is_bounded(tmp_path: Path) -> None:
    for folder in range(50):
        (tmp_path / f"data{folder:02}").mkdir()
        for number in range(1_000):
            (tmp_path / f"data{folder:02}/part_{number}.txt").touch()
    git(tmp_path, "init", "--quiet")
    listing = list_files(tmp_path)
    assert listing.is_cut
    assert len(listing.names) == MAX_NAMES


def test_a_folder_that_is_no_repository_of_git_is_walked_when_git_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "repo")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert set(list_files(repository).names) == set(FILES)


def test_a_damaged_repository_is_walked(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    (repository / ".git/index").write_bytes(b"DIRC\0\0\0\2garbage")
    assert set(list_files(repository).names) == set(FILES)
    status = ["git", "status"]
    assert subprocess.run(status, cwd=repository, capture_output=True).returncode
