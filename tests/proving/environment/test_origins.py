"""Whose dependencies they are decides how they are installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.proving.environment import has_untrusted_needs, read_needs
from agentos.repository.git.repository import find_repository
from tests.repository.git.ground import git, make_repository, write_files


class Ground:
    """A repository of the user, and needs that are read in it."""

    def __init__(self, tmp_path: Path, files: Mapping[str, bytes]) -> None:
        self.path = make_repository(tmp_path / "repo", files)

    def commit(self, files: Mapping[str, bytes], branch: str = "") -> str:
        if branch:
            git(self.path, "checkout", "-q", "-b", branch)
        write_files(self.path, files)
        git(self.path, "add", "-A")
        git(self.path, "commit", "-q", "-m", "Work")
        return head_of(self)

    def has_untrusted_needs(self, head: str, work: str) -> bool:
        """Ask with the files of some work while HEAD is somewhere else."""
        git(self.path, "checkout", "-q", "-f", "--detach", work)
        needs = read_needs(self.path)
        git(self.path, "update-ref", "--no-deref", "HEAD", head)
        return has_untrusted_needs(needs, find_repository(self.path).git(), work)


def head_of(ground: Ground) -> str:
    return git(ground.path, "rev-parse", "HEAD").strip()


def test_work_that_builds_on_unmerged_work_keeps_the_guard(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"requirements.txt": b"six\n"})
    own = head_of(ground)
    plain = ground.commit({"code.py": b"X = 1\n"}, "plain")
    first = ground.commit({"requirements.txt": b"six\nattrs\n"}, "first")
    second = ground.commit({"code.py": b"X = 2\n"}, "second")
    assert not ground.has_untrusted_needs(own, own)
    assert not ground.has_untrusted_needs(own, plain)
    assert ground.has_untrusted_needs(own, first)
    assert ground.has_untrusted_needs(own, second)
    assert not ground.has_untrusted_needs(first, second), "merged, it is the user's own"


def test_what_the_user_had_when_the_work_began_is_the_users_own(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"requirements.txt": b"six\n"})
    own = head_of(ground)
    work = ground.commit({"code.py": b"X = 1\n"}, "work")
    git(ground.path, "checkout", "-q", "--detach", own)
    newer = ground.commit({"requirements.txt": b"six\nattrs\n"})
    assert not ground.has_untrusted_needs(newer, work)


def test_work_that_was_taken_over_as_another_commit_is_the_users_own(
    tmp_path: Path,
) -> None:
    ground = Ground(tmp_path, {"requirements.txt": b"six\n"})
    own = head_of(ground)
    work = ground.commit({"requirements.txt": b"six\nattrs\n"}, "work")
    git(ground.path, "checkout", "-q", "--detach", own)
    squashed = ground.commit({"requirements.txt": b"six\nattrs\n", "other.py": b""})
    assert not ground.has_untrusted_needs(squashed, work)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {"requirements.txt": b"-r more.txt\n", "more.txt": b"six\n"},
            {"more.txt": b"attrs\n"},
            True,
        ),
        (
            {"pyproject.toml": b'[project]\nname = "x"\n'},
            {"setup.cfg": b"[options]\ninstall_requires = six\n"},
            True,
        ),
        ({}, {"pytest.ini": b"[pytest]\nrequired_plugins = pytest-mock\n"}, True),
        ({}, {"pytest.ini": b"[pytest]\naddopts = -q\n"}, False),
        (
            {"requirements.txt": b"./libs/one\n", "libs/one/setup.py": b""},
            {"libs/one/setup.py": b"1\n"},
            True,
        ),
        (
            {"requirements.txt": b"./libs/one\n", "libs/one/setup.py": b""},
            {"libs/one/new.py": b"1\n"},
            False,
        ),
        (
            {"requirements.txt": b"libs/one[x]\n", "libs/one/setup.py": b""},
            {"libs/one/new.py": b"1\n"},
            False,
        ),
        (
            {"requirements.txt": b"./libs/one\n", "libs/one/setup.py": b""},
            {"libs/one2/new.py": b"1\n"},
            False,
        ),
        (
            {"requirements.txt": b"six\n", "six/code.py": b""},
            {"six/code.py": b"1\n"},
            False,
        ),
    ],
)
def test_everything_that_has_a_say_counts(
    tmp_path: Path,
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    expected: bool,
) -> None:
    ground = Ground(tmp_path, {"code.py": b"", **before})
    own = head_of(ground)
    assert not ground.has_untrusted_needs(own, own)
    assert ground.has_untrusted_needs(own, ground.commit(after, "work")) is expected


def test_files_that_are_not_in_the_commit_yet_count_too(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"requirements.txt": b"six\n"})
    write_files(ground.path, {"requirements.txt": b"six\nattrs\n"})
    repository = find_repository(ground.path).git()
    assert has_untrusted_needs(read_needs(ground.path), repository, head_of(ground))


def test_a_link_counts_as_what_it_leads_to(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"lists/all.txt": b"six\n"})
    (ground.path / "requirements.txt").symlink_to("lists/all.txt")
    (ground.path / "pyproject.toml").symlink_to("lists/all.toml")
    own = ground.commit({"lists/all.toml": b'[project]\nname = "x"\n'})
    assert not ground.has_untrusted_needs(own, own)
    work = ground.commit(
        {"lists/all.toml": b'[project]\nname = "x"\ndependencies = ["six"]\n'}, "work"
    )
    assert ground.has_untrusted_needs(own, work)
