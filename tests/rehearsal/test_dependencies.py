"""What a branch asks to have installed is its own matter, and runs nothing outside of the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.cli import rehearse as command
from agentos.home import Home
from agentos.rehearsal.report import Report, Standing
from agentos.rehearsal.session import Request, rehearse
from tests.rehearsal.stage import Stage, make_stage, probe, room
from tests.worktrees.ground import git, make_repository, write_files

SETTINGS = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


@pytest.fixture
def stage(tmp_path: Path, home: Home) -> Stage:
    """A small shop."""
    return make_stage(tmp_path, home)


def run(stage: Stage, *ids: str, test_timeout: float = 300.0) -> Report:
    request = Request(stage.repository, ids, test_timeout=test_timeout)
    return asyncio.run(rehearse(request, stage.home, print))


def hostile_list(tmp_path: Path) -> tuple[Mapping[str, bytes], Path]:
    """Return a requirement list that would have pip build a project, and what the build would leave."""
    flag = tmp_path / "ran"
    backend = f"import pathlib\npathlib.Path({str(flag)!r}).write_text('ran')\n".encode()
    folder = make_repository(tmp_path / "hostile", {"pyproject.toml": SETTINGS, "backend.py": backend})
    return {"requirements.txt": f"git+{folder.as_uri()}#egg=hostile\n".encode()}, flag


def test_an_address_in_a_branch_is_not_installed_and_its_item_is_named(tmp_path: Path, stage: Stage) -> None:
    needed, flag = hostile_list(tmp_path)
    stage.finish("1", room("attic"))
    stage.finish("2", {**needed, **room("cellar")})
    stage.finish("3", {"shop/more.py": b"X = 1\n", **probe("shop.more", "X", "1")}, builds_on=["2"])
    report = run(stage)
    entries = {entry.item: entry for entry in report.entries}
    assert entries["1"].standing is Standing.MERGED
    assert entries["2"].standing is Standing.RED_ALONE
    [cause] = entries["2"].failures.values()
    assert "requirements.txt, line 1" in cause
    assert entries["3"].standing is not Standing.MERGED, "it brings the address along"
    assert not flag.exists()


def test_what_the_user_has_merged_is_not_built_outside_of_the_sandbox_either(tmp_path: Path, stage: Stage) -> None:
    needed, flag = hostile_list(tmp_path)
    write_files(stage.repository, needed)
    git(stage.repository, "add", "-A")
    git(stage.repository, "commit", "-q", "-m", "Mine")
    stage.finish("1", room("attic"))
    report = run(stage)
    assert any("built outside of the sandbox" in line for line in report.lines()), list(report.lines())
    assert not flag.exists()


def test_a_plain_requirement_of_a_branch_is_installed(stage: Stage) -> None:
    test = b"import sortedcontainers\n\n\ndef test_it():\n    assert sortedcontainers.SortedList([2, 1])[0] == 1\n"
    stage.finish("1", {"requirements.txt": b"sortedcontainers\n", "tests/test_sorted.py": test})
    report = run(stage)
    assert report.is_green, list(report.lines())


def test_a_run_may_take_as_long_as_it_is_told(stage: Stage) -> None:
    """Processor time follows from time on the clock, and a test can ask for it."""
    asked = b"def test_it():\n    row = open('/proc/self/limits').readlines()[1]\n    assert row.split()[3] == '5000'\n"
    stage.finish("1", {"tests/test_limit.py": asked})
    assert run(stage, test_timeout=2500.0).is_green


def test_the_command_takes_the_time_from_the_settings_of_the_repository(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def remember(request: Request, *, as_json: bool = False) -> int:
        asked.append(request)
        return int(as_json)

    monkeypatch.setattr(command, "rehearse_and_tell", remember)
    monkeypatch.setenv("AGENTOS_HOME", str(stage.home.root))
    write_files(stage.repository, {"agentos.toml": b"test_timeout = 1234\n"})
    assert command.main(["--repo", str(stage.repository)]) == 0
    assert [request.test_timeout for request in asked] == [1234.0]
