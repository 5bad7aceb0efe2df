"""`agentos trial-merge` on the installed command: what it says, how it ends, and that it
leaves nothing behind.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from agentos.state.home import Home
from tests.proving.trial_merge.stage import ROOMS_ARE_FEW, Stage, make_stage, room
from tests.repository.git.ground import git
from tests.support import (
    SIGINT,
    SIGKILL,
    SIGTERM,
    Running,
    World,
    ended_by,
    wait_gone,
    wait_until,
)

LASTING = """\
import time


def test_lasting():
    while True:
        time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One home, so that the environment of the tests is built once."""
    return Home(tmp_path_factory.mktemp("shared") / "home")


@pytest.fixture
def stage(tmp_path: Path, home: Home) -> Stage:
    """A small shop."""
    return make_stage(tmp_path, home)


@pytest.fixture
def world(stage: Stage, tmp_path: Path) -> World:
    """The same, for commands."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "no-home"),
        "AGENTOS_HOME": str(stage.home.root),
    }
    return World(stage.repository, stage.home.root, environ)


def test_the_pair_that_breaks_is_told_in_text_and_in_json(
    stage: Stage, world: World
) -> None:
    stage.finish("7", {"tests/test_few.py": ROOMS_ARE_FEW, **room("attic")})
    stage.finish("12", room("cellar"))
    before = stage.state()
    ended = world.run("agentos", "trial-merge")
    assert ended.code == 1, ended.text
    first, second, *_, last = ended.stdout.splitlines()
    assert first == "IMPL-7   merged"
    assert second.startswith(
        "IMPL-12  breaks with IMPL-7: tests/test_few.py::test_there_are_at_most_three_rooms"
    )
    assert last.startswith(
        "Trial merge: 1 item merged into HEAD, the suite is green; left out: 1 breaks; "
    )
    assert "[TRIAL-MERGE] suite, run 1: HEAD with 7, 12\n" in ended.stderr
    as_json = world.run("agentos", "trial-merge", "--all", "--json")
    told = json.loads(as_json.stdout)
    assert (as_json.code, told["green"], told["suite_runs"]) == (1, False, 4)
    assert [(item["id"], item["standing"], item["with"]) for item in told["items"]] == [
        ("7", "merged", []),
        ("12", "breaks", ["7"]),
    ]
    assert (
        told["items"][1]["tests"][0]["test"]
        == "tests/test_few.py::test_there_are_at_most_three_rooms"
    )
    alone = world.run("agentos", "trial-merge", "--ids", "IMPL-12")
    assert (alone.code, alone.stdout.splitlines()[0]) == (0, "IMPL-12  merged")
    assert stage.state() == before
    assert stage.leftovers == []


def test_what_cannot_be_used_ends_with_two_and_one_line(
    stage: Stage, world: World, tmp_path: Path
) -> None:
    stage.finish("1", room("attic"))
    for arguments, said in (
        (("--ids", "99"), "99: was never built, only implemented items can be merged"),
        (("--onto", "nowhere"), "nowhere: is not a commit"),
        (("--onto", "--all"), "expected one argument"),
        (("--onto=--output=x",), "--output=x: is not a commit"),
        (("--repo", str(tmp_path / "none")), "no such folder"),
        (("--ids", "../x"), "agentos trial-merge: "),
        (("--all", "--ids", "1"), "not allowed with"),
    ):
        ended = world.run("agentos", "trial-merge", *arguments)
        assert ended.code == 2, ended.text
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr
    plain = tmp_path / "plain"
    plain.mkdir()
    ended = world.run("agentos", "trial-merge", "--repo", str(plain))
    assert (ended.code, "is not in a git repository" in ended.stderr) == (2, True)
    shown = world.run("agentos", "trial-merge", "--help")
    assert shown.code == 0
    assert world.run("agentos", "rehearse", "--help").stdout == shown.stdout


def test_the_flag_of_the_workflow_has_its_former_name_too(world: World) -> None:
    for flag in ("--trial-merge", "--rehearse"):
        ended = world.run("implement-workflow", "--all", flag, "--json")
        assert ended.code == 2
        assert "--trial-merge and --json exclude each other" in ended.stderr


def test_with_nothing_implemented_there_is_nothing_to_do(world: World) -> None:
    ended = world.run("agentos", "trial-merge")
    assert (ended.code, ended.stdout) == (
        0,
        "Nothing to merge: no item is implemented.\n",
    )


def begin(stage: Stage, world: World) -> Running:
    """Start a trial merge and return when its tests, which never end, run."""
    if not git(stage.repository, "branch", "--list", stage.branch("1")):
        stage.finish("1", {"tests/test_lasting.py": LASTING.encode()})
    running = world.start("agentos", "trial-merge")
    running.wait_for("suite, run 1")
    wait_until(
        lambda: any("agentos_start.py" in line for line in _commands(running)),
        "the tests run",
    )
    return running


def _commands(running: Running) -> list[str]:
    found = []
    for process in running.descendants():
        try:
            found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_a_signal_ends_it_at_once_and_nothing_is_left(
    stage: Stage, world: World, number: int
) -> None:
    with begin(stage, world) as running:
        before = stage.state()
        children = running.descendants()
        running.signal(number)
        ended = running.finish()
    assert ended_by(ended.code, number)
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert wait_gone(children, 10) == []
    assert stage.state() == before
    assert stage.leftovers == []


def test_what_a_killed_trial_merge_leaves_is_gone_after_the_next(
    stage: Stage, world: World
) -> None:
    with begin(stage, world) as running:
        before = stage.state()
        second = world.run("agentos", "trial-merge")
        assert second.code == 2
        assert f"another trial merge runs as pid {running.pid}" in second.stderr
        children = running.descendants()
        running.signal(SIGKILL)
        running.finish()
    assert wait_gone(children, 10) == []
    assert stage.state() == before
    assert stage.leftovers != []
    stage.finish("2", room("attic"))
    ended = world.run("agentos", "trial-merge", "--ids", "2")
    assert ended.code == 0, ended.text
    assert stage.leftovers == []
