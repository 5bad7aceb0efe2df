"""Let many processes commit to their own checkpoint databases while others read the
status in a loop.
"""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path

from tests.faults.figures import Figures, main, percentile
from tests.faults.scene import fork, make_world, wait_child
from tests.support import World, wait_until

WRITERS = 10
PAUSE = 0.005
SLOWEST_READ = 0.050


def measure(seed: int, count: int, folder: Path, writers: int = WRITERS) -> Figures:
    """Commit so many times in each of the writers; this process must not have other
    threads, as it forks.
    """
    import langgraph.checkpoint.sqlite.aio  # noqa: F401

    figures = Figures("commit_storm", seed, count, {"writers": writers})
    world = make_world(folder, writers)
    stop = folder / "stop"
    readings = folder / "readings.json"
    reader = fork(lambda: _read_status(world, stop, readings))
    wait_until((folder / "reading").exists, "the reader has begun")
    started = time.monotonic()
    pids = [
        fork(partial(_commit, world, number, count, folder))
        for number in range(1, writers + 1)
    ]
    codes = [wait_child(pid) for pid in pids]
    figures.values["commits_a_second"] = round(
        writers * count / (time.monotonic() - started)
    )
    stop.touch()
    reader_code = wait_child(reader)
    complaints = [
        path.read_text("utf-8") for path in sorted(folder.glob("complaint-*"))
    ]
    figures.expect_none(complaints, "writer")
    figures.expect(not any(codes), f"writers ended with {codes}")
    figures.expect(reader_code == 0, f"the reader ended with {reader_code}")
    times = json.loads(readings.read_bytes()) if readings.exists() else []
    figures.values |= {"reads": len(times), "read_p99_seconds": percentile(times, 0.99)}
    figures.values |= {"locked": sum("locked" in text for text in complaints)}
    figures.expect(bool(times), "nothing was read")
    figures.expect_swift(
        percentile(times, 0.99) <= SLOWEST_READ,
        f"reads took {percentile(times, 0.99)} s (p99)",
    )
    finished = world.run("agentos", "status", "--json")
    counts = (
        json.loads(finished.stdout)["counts"] if finished.code == 0 else finished.text
    )
    figures.expect(counts == {"interrupted": writers}, f"status says {counts}")
    return figures


def _commit(world: World, number: int, count: int, folder: Path) -> None:
    try:
        asyncio.run(_commit_all(world, number, count))
    except Exception as error:
        (folder / f"complaint-{number}").write_text(
            f"{type(error).__name__}: {error}", "utf-8"
        )
        raise


async def _commit_all(world: World, number: int, count: int) -> None:
    from langgraph.checkpoint.base import empty_checkpoint

    from agentos.item import Item
    from agentos.kinds import Kind
    from agentos.state.home import Home, repository_key
    from agentos.workflows.engine.checkpoints import Identity
    from agentos.workflows.engine.stores import SqliteStore

    home = Home(world.home)
    key = repository_key(world.repo)
    home.prepare(key)
    path = home.item(key, Item(Kind.LLD, str(number), "")).checkpoint
    identity = Identity("lld", 1, str(number), "digest")
    async with SqliteStore(path).open(identity) as checkpoint:
        for step in range(count):
            state = {
                **empty_checkpoint(),
                "channel_values": {"step": step, "text": "x" * 1000},
            }
            config = {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}}
            metadata = {"source": "loop", "step": step}
            await checkpoint.saver.aput(config, state, metadata, {})  # type: ignore[arg-type]


def _read_status(world: World, stop: Path, readings: Path) -> None:
    """Read as `agentos status` does; a person's shell is slower than this."""
    from agentos.cli.status import read_status
    from agentos.kinds import Kind
    from agentos.state.home import Home

    times = []
    (stop.parent / "reading").touch()
    while not stop.exists():
        started = time.monotonic()
        rows = list(read_status(Home(world.home), world.repo, Kind.LLD))
        times.append(time.monotonic() - started)
        assert rows
        time.sleep(PAUSE)
    readings.write_text(json.dumps(times), "utf-8")


if __name__ == "__main__":
    raise SystemExit(main(measure, 1000))
