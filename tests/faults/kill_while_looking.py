"""Kill the coordinator or a worker while drafters and reviewers look at the repository:
no turn that was answered is asked again, and the documents are the same bytes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.designs import git
from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.looking_model import LOOK_TURNS
from tests.faults.scene import make_world, wait_deserted
from tests.support import PATIENCE, ROOT, SIGKILL, Running, World

ITEMS = 3
KILLS_A_WORLD = 5
CALLS = ITEMS * 2 * (LOOK_TURNS + 1)
COMMAND = (
    *("lld-workflow", "--all", "--parallel", "3", "--retries", "2"),
    *("--drafter", "openai:looking", "--price", "openai:*=3/15"),
)
CODE = "def export_list(path: str) -> int:\n    return 0\n\n\nLISTS = {1: 'a list'}\n"


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many times, over as many worlds as it takes."""
    begun = {"kills": 0, "worker_kills": 0, "worlds": 0, "asked_again": 0}
    figures = Figures("kill_while_looking", seed, count, begun)
    rng = random.Random(seed)
    while figures.values["kills"] < count:
        figures.add("worlds")
        place = folder / f"world-{figures.values['worlds']}"
        _torment(figures, place, rng, count - figures.values["kills"])
    return figures


@contextmanager
def stage(folder: Path) -> Iterator[tuple[World, Path]]:
    """Make a repository and start the model; yield the world and its ledger."""
    world = make_world(folder, ITEMS)
    (world.repo / "shelf").mkdir()
    (world.repo / "shelf/lists.py").write_text(CODE, "utf-8")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "Base")):
        git(world.repo, *words)
    ledger = folder / "ledger"
    ledger.touch()
    command = [sys.executable, "-m", "tests.faults.looking_model"]
    command += [str(world.repo / "docs/issues"), str(ledger)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        keys = [{"provider": "openai", "key": f"look-{n}"} for n in (1, 2)]
        market.write_keys(world, url, keys)
        try:
            yield world, ledger
        finally:
            server.kill()


def count_asked(ledger: Path) -> Counter[str]:
    """Return how often each question was asked."""
    return Counter(ledger.read_text("utf-8").split())


@cache
def undisturbed() -> dict[str, str]:
    """Return the documents of a run that nothing happened to."""
    with (
        TemporaryDirectory(prefix="agentos-looking-") as folder,
        stage(Path(folder)) as (world, ledger),
    ):
        finished = world.run(*COMMAND)
        assert finished.code == 0, finished.text
        assert sum(count_asked(ledger).values()) == CALLS, finished.text
        return world.artefacts()


def _torment(figures: Figures, folder: Path, rng: random.Random, kills: int) -> None:
    known = undisturbed()
    where = f"world {figures.values['worlds']}"
    killed = 0
    with stage(folder) as (world, ledger):
        while killed < min(kills, KILLS_A_WORLD):
            if not _kill(figures, world, ledger, rng):
                break
            killed += 1
            figures.expect_none(wait_deserted(world, 2.0), where)
        finished = world.run(*COMMAND)
        asked = count_asked(ledger)
    figures.expect(finished.code == 0, f"{where}: {finished.text[-2000:]}")
    figures.expect("Traceback" not in finished.text, f"{where}: {finished.text}")
    figures.expect(
        len(asked) == CALLS, f"{where}: {len(asked)} different questions, not {CALLS}"
    )
    again = sum(asked.values()) - CALLS
    # At a kill, each item has one question under way.
    figures.expect(
        again <= killed * ITEMS, f"{where}: {again} asked again with {killed} kills"
    )
    figures.expect(world.artefacts() == known, f"{where}: other documents")
    figures.add("asked_again", again)


def _kill(figures: Figures, world: World, ledger: Path, rng: random.Random) -> bool:
    """Kill the coordinator or a worker at a random question; return False if the
    command ended before.
    """
    before = sum(count_asked(ledger).values())
    moment = before + rng.randint(1, CALLS // KILLS_A_WORLD)
    with world.start(*COMMAND) as running:
        if not _wait_asked(ledger, running, moment):
            return False
        time.sleep(rng.uniform(0.0, 0.1))
        if rng.random() < 0.5:
            workers = running.workers()
            if workers:
                with suppress(psutil.NoSuchProcess):
                    os.kill(rng.choice(workers).pid, SIGKILL)
                figures.add("worker_kills")
                time.sleep(rng.uniform(0.0, 0.1))
        running.signal(SIGKILL)
    figures.add("kills")
    return True


def _wait_asked(ledger: Path, running: Running, number: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while sum(count_asked(ledger).values()) < number:
        assert time.monotonic() < deadline, running.text
        if running.process.poll() is not None:
            return False
        time.sleep(0.01)
    return True


if __name__ == "__main__":
    raise SystemExit(main(measure, 50))
