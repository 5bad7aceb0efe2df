"""A dry run lists, estimates and leaves everything exactly as it was."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import BIN, SIGINT, World


def snapshot(folder: Path) -> dict[str, tuple[int, int, int, int, bytes]]:
    """Return all that can be told of a tree: names, modes, times, sizes, bytes."""
    seen = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        seen[str(path)] = (
            status.st_mode,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_size,
            data,
        )
    return seen


def test_it_lists_count_ids_and_estimate(make_world: Callable[..., World]) -> None:
    world = make_world(issues=5)
    ended = world.run("lld-workflow", "--all", "--parallel", "3", "--dry-run")
    assert ended.code == 0
    assert "Dry run mode: 5 items would be processed, 3 at a time" in ended.stdout
    assert "Estimated time: about" in ended.stdout
    for number in range(1, 6):
        assert f"LLD-{number}  docs/issues/{number}-export.md" in ended.stdout


def test_its_json_is_one_document(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--dry-run", "--json")
    document = json.loads(ended.stdout)
    assert (document["schema"], document["count"], document["parallel"]) == (1, 3, 1)
    assert [item["id"] for item in document["items"]] == ["1", "2", "3"]


def test_it_creates_no_home(world: World) -> None:
    world.run("lld-workflow", "--all", "--dry-run")
    assert not world.home.exists()


def test_it_leaves_every_byte_and_time_stamp_as_it_was(world: World) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=60"
    ) as running:
        running.wait_for("Executing: N1_design", times=3)
        running.signal(SIGINT)
        running.finish()
    before = snapshot(world.repo) | snapshot(world.home)
    ended = world.run("lld-workflow", "--all", "--dry-run", "--parallel", "3")
    assert "3 resumed" in ended.stdout
    assert snapshot(world.repo) | snapshot(world.home) == before


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_it_opens_nothing_for_writing_and_starts_no_process(
    world: World, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    calls = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,fork,vfork,clone,clone3,connect"
    traced = (
        "strace",
        "-f",
        "-o",
        str(trace),
        "-e",
        f"trace={calls}",
        str(BIN / "lld-workflow"),
    )
    ended = world.run(
        *traced, "--all", "--dry-run", environ={"PYTHONDONTWRITEBYTECODE": "1"}
    )
    assert ended.code == 0, ended.text
    for line in trace.read_text("utf-8", "replace").splitlines():
        assert "O_WRONLY" not in line, line
        assert "O_RDWR" not in line, line
        assert not any(
            f" {name}(" in line
            for name in ("mkdir", "rename", "unlink", "clone", "fork", "connect")
        ), line


def test_it_works_where_nothing_can_be_written(world: World) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    world.repo.chmod(0o555)
    try:
        assert world.run("lld-workflow", "--all", "--dry-run").code == 0
    finally:
        world.repo.chmod(0o755)


def test_it_refuses_the_overrides_that_a_run_refuses(world: World) -> None:
    folder = world.repo / ".agentos/prompts"
    folder.mkdir(parents=True)
    (folder / "lld-reviews.md").write_text("Anything.\n", "utf-8")
    refused = [
        world.run("lld-workflow", "--all", *flags) for flags in ((), ("--dry-run",))
    ]
    assert [(ended.code, ended.stdout) for ended in refused] == [(2, ""), (2, "")]
    assert refused[0].stderr == refused[1].stderr
    assert "lld-review.md" in refused[1].stderr
    assert not world.home.exists()
