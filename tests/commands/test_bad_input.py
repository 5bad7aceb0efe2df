"""Bad input gets one clear line; one bad item does not touch the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import SIGINT, World

BAD_FILES = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n\t\n", "is empty"),
    "binary": (b"\x7fELF\x00\x01" * 50, "is binary"),
    "50 MB": (b"# 2 - Big\n" + b"x" * 50_000_000, "the limit is 1 MB"),
    "latin-1": ("# 2 - Größe\n".encode("latin-1"), "is not UTF-8 text"),
    "utf-16": ("# 2 - Title\n".encode("utf-16"), "is not UTF-8 text"),
    "only comments": (b"<!-- what goes wrong? -->\n", "is empty"),
}


@pytest.mark.parametrize(("data", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_is_no_issue_fails_alone_with_one_line(
    world: World, data: bytes, message: str
) -> None:
    (world.repo / "docs/issues/2-export.md").write_bytes(data)
    ended = world.run("lld-workflow", "--all", "--parallel", "3")
    assert ended.code == 1
    lines = [
        line
        for line in ended.stderr.splitlines()
        if line.startswith("[LLD-2] FAILED: ")
    ]
    assert len(lines) == 1
    assert message in lines[0]
    assert lines[0].endswith("(bad-input)")
    assert "2 completed, 1 failed (LLD-2)" in ended.stdout
    assert "Traceback" not in ended.text


def test_an_unreadable_file_fails_alone(world: World) -> None:
    path = world.repo / "docs/issues/2-export.md"
    path.unlink()
    path.symlink_to("gone.md")
    ended = world.run("lld-workflow", "--all")
    assert "2 completed, 1 failed (LLD-2)" in ended.stdout
    assert "cannot be read" in ended.stderr


def test_a_duplicated_id_fails_for_all_its_files_and_nobody_else(world: World) -> None:
    shutil.copy(
        world.repo / "docs/issues/2-export.md", world.repo / "docs/issues/002-again.md"
    )
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 1
    assert "002-again.md and 2-export.md have the same id 2" in ended.stderr
    assert "2 completed, 2 failed (LLD-2, LLD-2)" in ended.stdout


def test_a_file_without_a_usable_id_is_named_and_skipped(world: World) -> None:
    (world.repo / "docs/issues/what is this?.md").write_text("# No number\n", "utf-8")
    (world.repo / "docs/issues" / f"{'long' * 40}.md").write_text(
        "# No number\n", "utf-8"
    )
    (world.repo / "docs/issues/CON.md").write_text("# No number\n", "utf-8")
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 1
    assert ended.stderr.count("rename it as 42-title.md (bad-input)") == 3
    assert "3 completed, 3 failed" in ended.stdout


@pytest.mark.parametrize(
    "hostile",
    ["../etc/passwd", "abc\n", "CON", "-rf", "a" * 5000, "a b", "", "x/y", "é"],
)
def test_a_hostile_id_is_refused_before_anything_happens(
    world: World, hostile: str
) -> None:
    ended = world.run("lld-workflow", f"--issue={hostile}")
    assert ended.code == 2
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not world.home.exists()


def test_an_id_that_is_not_there_is_refused_before_anything_happens(
    world: World,
) -> None:
    ended = world.run("lld-workflow", "--ids", "1", "99")
    assert ended.code == 2
    assert "no such item in docs/issues: 99" in ended.stderr
    assert not world.home.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name the items: --all, --ids ID..., --issue ID"),
        (("--all", "--ids", "1"), "name the items in one way"),
        (("--parallel", "3"), "name the items"),
        (("--all", "--parallel", "0"), "must be 1 or more"),
        (("--all", "--parallel", "-1"), "must be 1 or more"),
        (("--all", "--parallel", "many"), "must be a whole number"),
        (("--all", "--paralel", "3"), "did you mean --parallel?"),
        (("137",), "name items with --ids or --issue"),
        (("--all", "--drafter", "nobody:x"), "unknown provider 'nobody'"),
        (("--all", "--drafter", "offline:fault=nonsense"), "nonsense"),
        (("--all", "--max-rounds", "0"), "must be 1 or more"),
        (("--all", "--timeout", "soon"), "must be a number of seconds"),
        (("--all", "--halt", "maybe"), "must be never"),
        (("--all", "--color", "pink"), "must be one of auto, always, never"),
        (("--all", "--repo", "nowhere"), "no such folder"),
        (("--all", "--retry-failed", "--skip-failed"), "exclude each other"),
    ],
)
def test_a_command_that_makes_no_sense_ends_with_2_and_says_why(
    world: World, arguments: tuple[str, ...], message: str
) -> None:
    ended = world.run("lld-workflow", *arguments)
    assert ended.code == 2, ended.text
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not world.home.exists()


def test_a_repository_without_issues_is_explained(world: World) -> None:
    shutil.rmtree(world.repo / "docs")
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 2
    assert "docs/issues: not found" in ended.stderr


def test_a_repository_that_cannot_be_written_is_refused_before_anything_ran(
    world: World,
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    world.repo.chmod(0o555)
    try:
        ended = world.run("lld-workflow", "--all")
    finally:
        world.repo.chmod(0o755)
    assert ended.code == 2
    assert "cannot be written to" in ended.stderr


def test_a_home_that_others_may_write_is_refused(world: World) -> None:
    world.home.mkdir()
    world.home.chmod(0o777)
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 2
    assert "chmod go-w" in ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_fails_the_items_and_loses_nothing(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    world = make_world(issues=3)
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)],
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount here")
    try:
        shutil.copytree(world.repo / "docs", disk / "docs")
        (disk / "filler").write_bytes(b"x" * 200_000)
        ended = world.run("lld-workflow", "--all", "--repo", str(disk))
        assert ended.code == 1, ended.text
        assert "No space left on device" in ended.stderr
        assert "Traceback" not in ended.text
        assert list(disk.rglob("*.tmp")) == []
        (disk / "filler").unlink()
        again = world.run("lld-workflow", "--all", "--repo", str(disk))
        assert again.code == 0, again.text
        assert len(list((disk / "docs/lld/active").iterdir())) == 3
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_damaged_checkpoint_is_set_aside_and_the_item_starts_again(
    world: World,
) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=60"
    ) as running:
        running.wait_for("Executing: N1_design", times=3)
        running.signal(SIGINT)
        running.finish()
    (database,) = (world.home / "checkpoints").rglob("lld_workflow_2.db")
    data = bytearray(database.read_bytes())
    data[4096:8192] = os.urandom(4096)
    database.write_bytes(data)
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 0, ended.text
    assert "[LLD-2] checkpoint is damaged" in ended.stdout
    assert "set aside as lld_workflow_2.db.corrupt-1" in ended.stdout
    assert database.with_name("lld_workflow_2.db.corrupt-1").read_bytes() == bytes(data)


def test_a_broken_settings_file_is_named(world: World) -> None:
    (world.repo / "agentos.toml").write_text("paralel = 3\n", "utf-8")
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 2
    assert "unknown setting 'paralel'; did you mean 'parallel'?" in ended.stderr


def test_settings_come_from_flag_environment_repository_user_and_default(
    world: World,
) -> None:
    (world.repo / "pyproject.toml").write_text(
        "[tool.agentos]\nparallel = 2\nretries = 4\n", "utf-8"
    )
    world.home.mkdir(mode=0o700)
    (world.home / "config.toml").write_text("parallel = 5\nmax_rounds = 7\n", "utf-8")
    ended = world.run("agentos", "config", "--json", environ={"AGENTOS_RETRIES": "1"})
    settings = json.loads(ended.stdout)["settings"]
    assert settings["parallel"] == {"value": 2, "origin": "pyproject.toml"}
    assert settings["retries"] == {"value": 1, "origin": "environment"}
    assert settings["max_rounds"]["value"] == 7
    assert settings["timeout"] == {"value": 0.0, "origin": "default"}


def test_the_retry_command_names_each_id_once_and_no_file_that_has_none(
    world: World,
) -> None:
    shutil.copy(
        world.repo / "docs/issues/2-export.md", world.repo / "docs/issues/002-again.md"
    )
    (world.repo / "docs/issues/what is this?.md").write_text("# No number\n", "utf-8")
    plain = replace(world, is_recorded=False)
    ended = plain.run("lld-workflow", "--all")
    line = next(
        line for line in ended.stdout.splitlines() if line.startswith("Failed: ")
    )
    assert line.endswith("Retry: lld-workflow --ids 2")


def test_the_settings_of_a_repository_are_shown_without_what_a_terminal_obeys(
    world: World,
) -> None:
    hostile = "openai:x\\u001b]0;owned\\u0007\\u009b2J\\nparallel  99  flag"
    (world.repo / "agentos.toml").write_text(
        f'drafter = "{hostile}"\nprice = ["{hostile}=0/0"]\n', "utf-8"
    )
    ended = world.run("agentos", "config")
    assert "owned" in ended.text
    assert not set("\x1b\x07\x9b") & set(ended.text)
    assert not [
        line for line in ended.stdout.splitlines() if line.startswith("parallel  99")
    ]
