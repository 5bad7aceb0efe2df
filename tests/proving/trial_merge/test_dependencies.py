"""What a branch asks to have installed is its own matter, and runs nothing outside of
the sandbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.cli import trial_merge
from agentos.cli.command import Arguments
from agentos.cli.main import main
from agentos.proving.trial_merge.report import MergeResult, TrialMergeReport
from agentos.proving.trial_merge.session import TrialMergeRequest, run_trial_merge
from agentos.state.home import Home
from tests.proving.trial_merge.stage import Stage, make_stage, probe, room
from tests.repository.git.ground import git, make_repository, write_files

pytestmark = pytest.mark.slow

SETTINGS = (
    b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
)


@pytest.fixture
def stage(tmp_path: Path, home: Home) -> Stage:
    """A small shop."""
    return make_stage(tmp_path, home)


def run(stage: Stage, *ids: str, test_timeout: float = 300.0) -> TrialMergeReport:
    request = TrialMergeRequest(stage.repository, ids, test_timeout=test_timeout)
    return asyncio.run(run_trial_merge(request, stage.home, print))


def hostile_list(tmp_path: Path) -> tuple[Mapping[str, bytes], Path]:
    """Return a requirement list that would have pip build a project, and what the build
    would leave.
    """
    flag = tmp_path / "ran"
    backend = (
        f"import pathlib\npathlib.Path({str(flag)!r}).write_text('ran')\n".encode()
    )
    folder = make_repository(
        tmp_path / "hostile", {"pyproject.toml": SETTINGS, "backend.py": backend}
    )
    return {"requirements.txt": f"git+{folder.as_uri()}#egg=hostile\n".encode()}, flag


def test_an_address_in_a_branch_is_not_installed_and_its_item_is_named(
    tmp_path: Path, stage: Stage
) -> None:
    needed, flag = hostile_list(tmp_path)
    stage.finish("1", room("attic"))
    stage.finish("2", {**needed, **room("cellar")})
    stage.finish(
        "3",
        {"shop/more.py": b"X = 1\n", **probe("shop.more", "X", "1")},
        builds_on=["2"],
    )
    report = run(stage)
    entries = {entry.item: entry for entry in report.entries}
    assert entries["1"].result is MergeResult.MERGED
    assert entries["2"].result is MergeResult.RED_ALONE
    [cause] = entries["2"].failures.values()
    assert "requirements.txt, line 1" in cause
    assert entries["3"].result is not MergeResult.MERGED, "it brings the address along"
    assert not flag.exists()


def test_what_the_user_has_merged_is_not_built_outside_of_the_sandbox_either(
    tmp_path: Path, stage: Stage
) -> None:
    needed, flag = hostile_list(tmp_path)
    write_files(stage.repository, needed)
    git(stage.repository, "add", "-A")
    git(stage.repository, "commit", "-q", "-m", "Mine")
    stage.finish("1", room("attic"))
    report = run(stage)
    assert any("built outside of the sandbox" in line for line in report.lines()), list(
        report.lines()
    )
    assert not flag.exists()


def test_a_plain_requirement_of_a_branch_is_installed(stage: Stage) -> None:
    test = b"import sortedcontainers\n\n\ndef test_it():\n    assert sortedcontainers.SortedList([2, 1])[0] == 1\n"
    stage.finish(
        "1", {"requirements.txt": b"sortedcontainers\n", "tests/test_sorted.py": test}
    )
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
    asked: list[TrialMergeRequest] = []

    def remember(request: TrialMergeRequest, arguments: Arguments) -> int:
        asked.append(request)
        return int(arguments.json)

    monkeypatch.setattr(trial_merge, "merge_and_report", remember)
    monkeypatch.setenv("AGENTOS_HOME", str(stage.home.root))
    write_files(stage.repository, {"agentos.toml": b"test_timeout = 1234\n"})
    assert main(["trial-merge", "--repo", str(stage.repository)]) == 0
    assert [request.test_timeout for request in asked] == [1234.0]
