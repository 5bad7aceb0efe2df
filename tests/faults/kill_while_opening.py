"""Kill a process with -9 while it makes its checkpoint database: the half-made one must
not count as damaged.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from functools import partial
from pathlib import Path

from agentos.workflows.engine.checkpoints import Identity, examine
from agentos.workflows.engine.stores import SqliteStore
from tests.faults.figures import Figures, main
from tests.faults.scene import fork, wait_child

IDENTITY = Identity("lld", 1, "1", "digest")
LATEST = 0.03


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many times; this process must not have other threads, as it forks."""
    import langgraph.checkpoint.sqlite.aio  # noqa: F401

    figures = Figures("kill_while_opening", seed, count, {"half_made": 0, "whole": 0})
    rng = random.Random(seed)
    for number in range(1, count + 1):
        path = folder / f"{number}.db"
        pid = fork(partial(_open, path))
        time.sleep(rng.uniform(0, LATEST))
        os.kill(pid, signal.SIGKILL)
        wait_child(pid)
        figures.add("whole" if path.with_suffix(".opened").exists() else "half_made")
        notice = examine(path, IDENTITY)
        figures.expect(notice is None, f"kill {number}: {notice}")
    return figures


def _open(path: Path) -> None:
    asyncio.run(_stay_open(path))


async def _stay_open(path: Path) -> None:
    async with SqliteStore(path).open(IDENTITY):
        path.with_suffix(".opened").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    raise SystemExit(main(measure, 300))
