"""A fork server that is killed while it starts is started anew, and a run that gets
none says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil
import pytest

from tests.support import PATIENCE, Running, World

FORK_SERVER_MAIN = "agentos.workers.process.fork_server_main"
MEGABYTE = 1_000_000


def _starting(running: Running) -> Iterator[psutil.Process]:
    """Yield each fork server of a command as soon as it is seen, until the command
    ends.
    """
    seen: set[int] = set()
    deadline = time.monotonic() + PATIENCE
    while running.process.poll() is None and time.monotonic() < deadline:
        try:
            children = psutil.Process(running.pid).children()
            found = [
                child
                for child in children
                if child.pid not in seen and FORK_SERVER_MAIN in child.cmdline()
            ]
        except psutil.Error:
            continue
        for child in found:
            seen.add(child.pid)
            yield child


def _kill_at(server: psutil.Process, size: int) -> None:
    """Kill a server when it has grown to a size: the more it has imported, the more
    memory it uses.
    """
    try:
        while server.memory_info().rss < size:
            pass
        server.kill()
    except psutil.NoSuchProcess:
        pass


@pytest.mark.parametrize(
    "size", [0, 15 * MEGABYTE, 30 * MEGABYTE, 45 * MEGABYTE, 60 * MEGABYTE]
)
def test_a_fork_server_that_is_killed_while_it_starts_is_replaced(
    world: World, size: int
) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3") as running:
        for number, server in enumerate(_starting(running)):
            if number < 2:
                _kill_at(server, size)
        ended = running.finish()
    assert ended.code == 0, ended.text
    assert len(list((world.repo / "docs/lld/active").iterdir())) == 3
    assert world.leftovers() == []
    assert number == 2


def test_a_run_that_gets_no_fork_server_ends_in_one_line(world: World) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3") as running:
        killed = 0
        for server in _starting(running):
            _kill_at(server, 0)
            killed += 1
        ended = running.finish()
    assert ended.code == 3, ended.text
    assert killed in (4, 5), (
        "the one that was started ahead may be gone before it is needed"
    )
    assert ended.text.count("the fork server has ended") == 1
    assert "4 times while it started; run again" in ended.text
    assert "Traceback" not in ended.text
