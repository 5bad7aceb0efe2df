"""Damage checkpoints of an interrupted run: each is recovered or set aside, and no
result is ever wrong.
"""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

from tests.faults import evidence
from tests.faults.figures import Figures, main
from tests.faults.scene import command, make_world, undisturbed
from tests.support import SIGINT, SIGKILL, World

ITEMS = 6
RUNS_A_WORLD = 8
DAMAGED_AT_ONCE = 4


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Damage so many checkpoints, some of each world's and some at a time."""
    figures = Figures(
        "damage_checkpoints", seed, count, {"cases": 0, "recovered": 0, "set_aside": 0}
    )
    rng = random.Random(seed)
    known = undisturbed(ITEMS)
    worlds = 0
    while figures.values["cases"] < count:
        worlds += 1
        world = make_world(folder / f"world-{worlds}", ITEMS)
        # SIGINT leaves databases that were closed, SIGKILL ones with a write-ahead log.
        _interrupt(world, rng, SIGKILL if worlds % 2 else SIGINT)
        saved = folder / f"saved-{worlds}"
        shutil.copytree(world.home, saved / "home")
        shutil.copytree(world.repo, saved / "repo")
        for _ in range(RUNS_A_WORLD):
            if figures.values["cases"] < count:
                _damage_and_rerun(figures, world, rng, known)
                for original in (world.home, world.repo):
                    shutil.rmtree(original)
                    shutil.copytree(saved / original.name, original)
    return figures


def _interrupt(world: World, rng: random.Random, number: int) -> None:
    with world.start(*command(parallel=ITEMS, reviewer=",fault=hang@1")) as running:
        running.wait_for("Executing", times=rng.randint(20, 60))
        running.signal(number)
        running.finish()


def _damage_and_rerun(
    figures: Figures, world: World, rng: random.Random, known: dict[str, str]
) -> None:
    found = sorted((world.home / "checkpoints").rglob("*.db"))
    chosen = rng.sample(
        found, min(DAMAGED_AT_ONCE, len(found), figures.count - figures.values["cases"])
    )
    done = {path: _damage(path, rng) for path in chosen}
    figures.add("cases", len(done))
    where = f"case {figures.values['cases']} ({'; '.join(f'{p.name}: {how}' for p, how in done.items())})"
    finished = world.run(*command(latency=0))
    figures.expect(
        finished.code == 0,
        f"{where}: ended with {finished.code}: {finished.text[-3000:]}",
    )
    figures.expect("Traceback" not in finished.text, f"{where}: {finished.text}")
    problems = [
        p for p in evidence.end_problems(world, known, ITEMS) if ".corrupt-" not in p
    ]
    figures.expect_none(problems, where)
    for path in done:
        is_aside = path.with_name(f"{path.name}.corrupt-1").exists()
        figures.add("set_aside" if is_aside else "recovered")
        figures.expect(
            not is_aside or f"{path.name}.corrupt-1" in finished.text,
            f"{where}: set aside without a word",
        )
    spared = [
        path
        for path in found
        if path not in done and path.with_name(f"{path.name}.corrupt-1").exists()
    ]
    figures.expect(not spared, f"{where}: {spared} were sound and set aside")
    figures.expect(
        not re.search(r"internal error", finished.text), f"{where}: {finished.text}"
    )


def _damage(path: Path, rng: random.Random) -> str:
    log = path.with_name(f"{path.name}-wal")
    way = rng.choice(
        ("flip", "flip", "flip", "truncate", "delete log", "flip log", "truncate log")
    )
    target = log if way.endswith("log") and log.exists() else path
    if way == "delete log" and target is log:
        log.unlink()
        return way
    data = bytearray(target.read_bytes())
    if way.startswith("truncate"):
        size = rng.randrange(len(data) + 1)
        target.write_bytes(data[:size])
        return f"{target.suffix} cut to {size} of {len(data)} bytes"
    places = (
        [rng.randrange(len(data)) for _ in range(rng.choice((1, 1, 2, 16)))]
        if data
        else []
    )
    for place in places:
        data[place] ^= 1 << rng.randrange(8)
    target.write_bytes(data)
    return f"{target.suffix} flipped at {places} of {len(data)} bytes"


if __name__ == "__main__":
    raise SystemExit(main(measure, 200))
