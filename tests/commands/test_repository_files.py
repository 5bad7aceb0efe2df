"""Files of a repository that never end, and folders that lead out of it, are refused
before anything is spent.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.designs import Item, fill, git
from tests.support import World

COMMAND = ("lld-workflow", "--all", "--dry-run")
SETTINGS = ("agentos.toml", ".agentos/config.toml", "pyproject.toml")
OF_GIT = (".git/HEAD", ".git/config", ".git/info/exclude", ".git/commondir")


def _put(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "giant":
        path.touch()
        os.truncate(path, 1_000_000_000)
    else:
        path.write_text("parallel = " + "[" * 100_000 + "\n", "utf-8")


@pytest.mark.parametrize("kind", ["pipe", "device", "giant", "deep"])
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_cannot_be_read_end_the_command_in_one_line(
    world: World, name: str, kind: str
) -> None:
    _put(world.repo / name, kind)
    ended = world.run(*COMMAND)
    assert ended.code == 2, ended.text
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert name in ended.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "giant"])
@pytest.mark.parametrize("name", OF_GIT)
def test_git_is_not_started_on_files_that_never_end(
    world: World, name: str, kind: str
) -> None:
    git(world.repo, "init", "--quiet")
    _put(world.repo / name, kind)
    for command in (COMMAND, ("implement-workflow", "--all"), ("agentos", "status")):
        ended = world.run(*command)
        assert ended.code == 2, ended.text
        assert len(ended.stderr.splitlines()) == 1
        assert name in ended.stderr


def test_git_is_not_started_where_a_pointer_leads_to_such_files(world: World) -> None:
    elsewhere = world.repo.parent / "elsewhere"
    elsewhere.mkdir()
    os.mkfifo(elsewhere / "HEAD")
    (world.repo / ".git").write_text(f"gitdir: {elsewhere}\n", "utf-8")
    ended = world.run(*COMMAND)
    assert (ended.code, ended.stderr) == (
        2,
        "lld-workflow: HEAD: is not an ordinary file; put one there\n",
    )


def test_a_pipe_in_the_place_of_a_design_is_one_bad_item(world: World) -> None:
    fill(world, Item(1), Item(2))
    _put(world.repo / "docs/lld/active/LLD-002.md", "pipe")
    _put(world.repo / "docs/reports/1/implementation-report.md", "pipe")
    with world.start("implement-workflow", "--all", "--json") as running:
        items = {
            item["id"]: item for item in json.loads(running.finish().stdout)["items"]
        }
    assert items["2"]["class"] == "bad-input"
    assert "not an ordinary file" in items["2"]["message"]
    assert items["1"]["status"] == "implemented", items["1"]


def test_a_pipe_where_a_design_goes_is_moved_aside(world: World) -> None:
    _put(world.repo / "docs/lld/active/LLD-001.md", "pipe")
    ended = world.run("lld-workflow", "--ids", "1")
    assert ended.code == 0, ended.text
    assert (world.repo / "docs/lld/active/LLD-001.md").is_file()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "docs/issues",
            "docs/briefs",
            "docs/answers",
            "docs/lld",
            "docs/lld/active",
            "docs/lld/done",
        ),
        *("docs/lineage", "docs/lineage/active", "docs/reports", ".agentos", "docs"),
    ],
)
def test_a_folder_that_leads_out_of_the_repository_ends_the_command(
    world: World, name: str
) -> None:
    place = world.repo / name
    outside = world.repo.parent / "outside"
    if place.is_dir():
        shutil.move(place, outside)
    else:
        outside.mkdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    ended = replace(world, is_recorded=False).run("lld-workflow", "--all")
    assert ended.code == 2, ended.text
    assert (
        ended.stderr
        == f"lld-workflow: {name}: leads outside the repository; remove the link and run again\n"
    )
    assert sorted(outside.rglob("*")) == before
    assert not world.home.exists() or not (world.home / "journal.db").exists()


def test_a_link_that_stays_in_the_repository_is_followed(world: World) -> None:
    shutil.move(world.repo / "docs/issues", world.repo / "requests")
    (world.repo / "docs/issues").symlink_to("../requests")
    ended = world.run("lld-workflow", "--ids", "1")
    assert ended.code == 0, ended.text
    assert (world.repo / "docs/lld/active/LLD-001.md").is_file()
