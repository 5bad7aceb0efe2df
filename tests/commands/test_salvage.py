"""`agentos salvage` finds everything that was saved, writes it out byte by byte, and
clears away only what is safe.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agentos.item import Item
from agentos.kinds import Kind
from agentos.state import locks
from agentos.state.home import Home, repository_key
from tests.commands.built import build_item, make_clone, open_item, worktree_folder
from tests.repository.git.ground import content_of, git, write_files
from tests.support import World


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A clone in which item 42 is implemented."""
    world = make_world(issues=0)
    make_clone(world)
    build_item(world)
    return world


def refs(world: World) -> list[str]:
    """Return our refs, in the repository and in those of the items."""
    found: set[str] = set()
    for place in (world.repo, *world.home.glob("worktrees/*/.*.git")):
        listed = git(place, "for-each-ref", "--format=%(refname)", "refs/agentos/")
        found.update(listed.split())
    return sorted(found)


def test_everything_that_was_saved_is_listed(world: World) -> None:
    build_item(world, "7", title="Count the books")
    ended = world.run("agentos", "salvage")
    assert ended.code == 0, ended.text
    lines = ended.stdout.splitlines()
    assert (
        lines[0]
        == f"IMPL-42: 3 saved, branch agentos/42-export-the-shelf, worktree {worktree_folder(world, '42')}"
    )
    rows = {line.split()[0]: line for line in lines[1:4]}
    assert rows["iteration-1"].endswith("3 files  not on the branch")
    assert rows["iteration-2"].endswith("3 files  on the branch, the last state")
    assert "on the branch" in rows["committed-1"]
    assert any(
        line.startswith("IMPL-7: 3 saved, branch agentos/7-count-the-books")
        for line in lines
    )
    told = json.loads(world.run("agentos", "salvage", "IMPL-042", "--json").stdout)
    assert [entry["item"] for entry in told["items"]] == ["42"]
    saved = {kept["name"]: kept for kept in told["items"][0]["snapshots"]}
    assert saved["iteration-1"]["on_branch"] is False
    assert saved["iteration-2"]["latest"] is True
    assert saved["iteration-2"]["time"].endswith("Z")
    assert (
        saved["iteration-1"]["commit"]
        == git(
            worktree_folder(world, "42").with_name(".42.git"),
            "rev-parse",
            "refs/agentos/42/iteration-1",
        ).strip()
    )


def test_a_snapshot_is_written_byte_by_byte_and_the_told_command_shows_it(
    world: World, tmp_path: Path
) -> None:
    worktree = open_item(world, "42", "")
    odd = {
        b"new \xff name": ("file", b"\x00\r\n"),
        b"tool.sh": ("program", b"#!/bin/sh\n"),
    }
    for name, (_, data) in odd.items():
        path = Path(worktree.folder) / name.decode("utf-8", "surrogateescape")
        path.write_bytes(data)
    (worktree.path / "tool.sh").chmod(0o755)
    (worktree.path / "link").symlink_to("/etc/passwd")
    before = content_of(worktree.path)
    assert world.run("agentos", "salvage", "42", "--clean").code == 0
    ended = world.run("agentos", "salvage", "IMPL-42", "--to", "../out", cwd=world.repo)
    assert ended.code == 0, ended.text
    assert content_of(tmp_path / "out") == before
    assert (
        f"{len(before)} files of latest written to {world.repo}/../out. "
        in ended.stdout
    )
    command = shlex.split(ended.stdout.partition("Show the changes with: ")[2])
    shown = subprocess.run(
        command, env=dict(world.environ), capture_output=True, check=True
    )
    assert b"tool.sh" in shown.stdout
    ended = world.run(
        "agentos",
        "salvage",
        "42",
        "--name",
        "iteration-1",
        "--to",
        str(tmp_path / "first"),
        "--json",
    )
    told = json.loads(ended.stdout)
    assert (told["name"], told["files"]) == ("iteration-1", 3)
    assert (
        tmp_path / "first/shelf/export_42.py"
    ).read_bytes() == b"def export():\r\n    return 1\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("8",), "IMPL-8: nothing is saved"),
        (("4",), "IMPL-4: nothing is saved"),
        (("8", "--to", "out"), "IMPL-8: nothing is saved"),
        (("8", "--clean"), "IMPL-8: nothing is saved"),
        (
            ("42", "--name", "iteration-9", "--to", "out"),
            "nothing was saved under 'iteration-9'",
        ),
        (
            ("42", "--name", "../42/latest", "--to", "out"),
            "nothing was saved under '../42/latest'",
        ),
        (("42", "--to", "shelf"), "shelf: is there already"),
        (("42", "--to", "none/out"), "none: is not a folder"),
        (("--to", "out"), "--to: name the item"),
        (("42", "--name", "latest"), "--name: needs --to DIR"),
        (("42", "--forget-merged"), "--forget-merged: needs --clean"),
        (("../42",), "invalid"),
        (("42", "--to", "out", "--clean"), "not allowed with argument"),
        (("--repo", "/"), "/: is not in a git repository"),
        (("--repo", "nowhere"), "nowhere: no such folder"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    world: World, flags: tuple[str, ...], words: str
) -> None:
    ended = world.run("agentos", "salvage", *flags)
    assert ended.code == 2
    assert words.casefold() in ended.stderr.casefold()
    assert ended.stdout == ""
    assert (
        len([line for line in ended.stderr.splitlines() if not line.startswith("See ")])
        == 1
    )
    assert not (world.repo / "out").exists()


def test_where_nothing_is_saved_that_is_said(make_world: Callable[..., World]) -> None:
    world = make_world(issues=0)
    make_clone(world)
    ended = world.run("agentos", "salvage")
    assert (ended.code, ended.stdout) == (0, "nothing saved\n")
    assert json.loads(world.run("agentos", "salvage", "--json").stdout)["items"] == []
    ended = world.run("agentos", "salvage", "--clean")
    assert (ended.code, ended.stdout) == (0, "nothing to clean up\n")


def test_clearing_away_saves_first_and_keeps_every_ref(
    world: World, tmp_path: Path
) -> None:
    folder = worktree_folder(world, "42")
    write_files(folder, {"shelf/by_hand.py": b"typed in\n"})
    before, kept = content_of(folder), set(refs(world))
    ended = world.run("agentos", "salvage", "--clean")
    assert (ended.code, ended.stdout) == (
        0,
        "IMPL-42: worktree removed: everything in it is saved as closed\n",
    )
    assert not folder.exists()
    assert kept < set(refs(world))
    assert git(world.repo, "worktree", "list").count("\n") == 1
    assert (
        world.run("agentos", "salvage", "42", "--to", str(tmp_path / "out")).code == 0
    )
    assert content_of(tmp_path / "out") == before
    assert open_item(world, "42", "").path == folder
    assert content_of(folder) == before


def test_what_is_not_finished_or_being_run_stays(world: World) -> None:
    open_item(world, "7", "Count")
    home, key = Home(world.home), repository_key(world.repo)
    home.item(key, Item(Kind.IMPLEMENTATION, "7", "")).checkpoint.touch()
    lock = locks.acquire(
        home.item(key, Item(Kind.IMPLEMENTATION, "42", "")).lock,
        "implement-workflow --all",
    )
    assert isinstance(lock, locks.ItemLock)
    try:
        ended = world.run("agentos", "salvage", "--clean", "--json")
    finally:
        lock.release()
    assert ended.code == 1
    steps = {step["label"]: step for step in json.loads(ended.stdout)["steps"]}
    assert steps["IMPL-7"]["did"] == "kept"
    assert steps["IMPL-42"]["did"] == "left"
    assert "is being run by pid" in steps["IMPL-42"]["why"]
    assert worktree_folder(world, "42").is_dir()
    assert worktree_folder(world, "7").is_dir()
    assert world.run("agentos", "salvage", "7", "--clean").code == 0
    assert not worktree_folder(world, "7").exists()


def test_a_folder_that_nobody_knows_is_left_and_named(world: World) -> None:
    stranger = worktree_folder(world, "9")
    stranger.mkdir()
    (stranger / "mine.txt").write_text("do not touch", "utf-8")
    ended = world.run("agentos", "salvage", "--clean")
    assert ended.code == 1
    assert f"IMPL-9: left as it is: {stranger}: its branch is unknown" in ended.stdout
    assert (stranger / "mine.txt").read_text("utf-8") == "do not touch"
    assert not worktree_folder(world, "42").exists()


def test_refs_are_forgotten_only_of_what_is_merged_and_only_when_asked(
    world: World,
) -> None:
    build_item(world, "7", title="Count the books")
    git(world.repo, "merge", "-q", "--no-edit", "agentos/42-export-the-shelf")
    assert world.run("agentos", "salvage", "--clean").code == 0
    assert any("/42/" in ref for ref in refs(world))
    ended = world.run("agentos", "salvage", "--clean", "--forget-merged")
    assert ended.code == 0, ended.text
    assert ended.stdout.startswith("IMPL-42: ")
    assert ended.stdout.endswith(" refs deleted: its branch is merged\n")
    assert not any("/42/" in ref for ref in refs(world))
    assert any("/7/" in ref for ref in refs(world))
    assert "agentos/42-export-the-shelf" in git(world.repo, "branch")
