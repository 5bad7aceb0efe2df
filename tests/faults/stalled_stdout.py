"""Let nobody read stdout for a while: the work goes on, and the coordinator does not
grow.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import time
from pathlib import Path

import psutil

from tests.faults.figures import Figures, main
from tests.faults.scene import ROUNDS, command, make_world
from tests.support import BIN, PATIENCE, World, wait_until

ITEMS = 20
SMALLEST_PIPE = 4096
MOST_GROWTH = 64 * 1024 * 1024


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Stall stdout for `count` seconds."""
    figures = Figures("stalled_stdout", seed, count)
    world = make_world(folder / "world", ITEMS)
    latency = random.Random(seed).uniform(0, 0.02)
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    with open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            [
                str(BIN / "lld-workflow"),
                *world.with_answers(*command(latency=latency))[1:],
            ],
            cwd=world.repo,
            env=dict(world.environ),
            stdout=writer,
            stderr=errors,
            start_new_session=True,
        )
    os.close(writer)
    try:
        _stall(figures, world, process, count)
        text = _read_all(reader)
        code = process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(reader)
    figures.expect(code == 0, f"ended with {code}")
    figures.expect_none(_output_problems(text), "stdout")
    return figures


def _stall(
    figures: Figures, world: World, process: subprocess.Popen[bytes], seconds: float
) -> None:
    stalled = time.monotonic()
    memory = []
    coordinator = psutil.Process(process.pid)

    def is_done() -> bool:
        memory.append(coordinator.memory_info().rss)
        return _approved(world) == ITEMS

    wait_until(lambda: (world.home / "logs").exists(), "the run has begun")
    wait_until(is_done, "all items are approved while nobody reads")
    figures.values["all_approved_after_seconds"] = round(time.monotonic() - stalled, 2)
    while time.monotonic() - stalled < seconds:
        memory.append(coordinator.memory_info().rss)
        time.sleep(0.05)
    figures.expect(
        process.poll() is None, "it did not wait for the reader with what it had to say"
    )
    growth = max(memory) - memory[0]
    figures.values["growth_megabytes"] = round(growth / 1e6, 1)
    figures.expect(growth <= MOST_GROWTH, f"grew by {growth} bytes")


def _approved(world: World) -> int:
    states = (
        json.loads(path.read_bytes())["state"]
        for path in (world.home / "items").rglob("lld_*.json")
    )
    return sum(state == "approved" for state in states)


def _read_all(reader: int) -> str:
    chunks = []
    while chunk := os.read(reader, 65536):
        chunks.append(chunk)
    return b"".join(chunks).decode("utf-8")


def _output_problems(text: str) -> list[str]:
    steps = sum(
        line.startswith("[LLD-") and ">>> Executing" in line
        for line in text.splitlines()
    )
    wanted = ITEMS * (2 + 3 * ROUNDS)
    problems = [] if steps == wanted else [f"{steps} of {wanted} step lines came"]
    return (
        problems if f"{ITEMS} approved in" in text else [*problems, "no summary came"]
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 30))
