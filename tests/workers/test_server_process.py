"""The fork server that is started before it is known what for: used once, never left
behind, never mute.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from agentos.cli.main import main
from agentos.kinds import Kind
from agentos.workers.process import server_process
from agentos.workers.process.fork_server import ForkServer, ForkServerDied


def children() -> list[int]:
    return [child.pid for child in psutil.Process().children()]


@pytest.mark.parametrize("is_ahead", [True, False])
def test_a_fork_server_serves_whether_it_was_started_ahead_or_not(
    tmp_path: Path, is_ahead: bool
) -> None:
    async def serve() -> None:
        ahead = children()
        server = ForkServer.start(
            os.environ, tmp_path / "log", tmp_path / "scratch", Kind.LLD
        )
        try:
            assert len(ahead) <= 1
            assert not ahead or ahead == [server.pid]
            await server.wait_ready()
            worker = server.fork()
            await worker.warmed_up
            assert worker.is_alive
        finally:
            server.close()

    with (
        server_process.started_ahead(os.environ, Kind.LLD)
        if is_ahead
        else nullcontext()
    ):
        asyncio.run(serve())
    assert children() == []


def test_one_of_another_workflow_or_environment_is_not_taken(tmp_path: Path) -> None:
    with server_process.started_ahead({**os.environ, "LC_TIME": "C"}, Kind.LLD):
        ahead = children()
        for environ, workflow in (
            (os.environ, Kind.LLD),
            ({**os.environ, "LC_TIME": "C"}, Kind.ISSUE),
        ):
            taken = server_process.take(environ, workflow)
            assert taken.process.pid not in ahead
            taken.process.kill()
            taken.close()
    assert children() == []


def test_what_it_says_before_it_has_a_log_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_process, "FORK_SERVER_MAIN", "agentos.no_such_module")

    async def serve() -> None:
        server = ForkServer.start(
            os.environ, tmp_path / "log", tmp_path / "scratch", Kind.LLD
        )
        try:
            with pytest.raises(ForkServerDied, match="No module named"):
                await server.wait_ready()
        finally:
            server.close()

    asyncio.run(serve())


@pytest.mark.parametrize(
    "arguments", [["--all"], ["--ids", "7"], ["--all", "--dry-run"]]
)
def test_a_command_that_runs_nothing_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("AGENTOS_HOME", str(tmp_path / "home"))
    before = children()
    main(["lld", *arguments, "--repo", str(tmp_path)])
    assert children() == before


def test_on_one_processor_nothing_is_started_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with server_process.started_ahead(os.environ, Kind.LLD):
        assert children() == []


def test_nothing_stays_open_when_it_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/interpreter")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(OSError, match="no/such"):
        server_process.take(os.environ, Kind.LLD)
    with server_process.started_ahead(os.environ, Kind.LLD):
        pass
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_home_with_any_name_will_do(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    odd.mkdir()

    async def serve() -> None:
        server = ForkServer.start(os.environ, odd / "log", odd / "scratch", Kind.LLD)
        try:
            await server.wait_ready()
        finally:
            server.close()

    asyncio.run(serve())
