"""Kill one random worker with -9: its item alone is affected, and is retried or
reported.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import psutil

from tests.faults import evidence
from tests.faults.figures import Figures, main
from tests.faults.scene import command, make_world, strike_moment, undisturbed
from tests.support import World

ITEMS = 6


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill one worker in each of so many runs; every other run may try again."""
    figures = Figures(
        "kill_worker",
        seed,
        count,
        {"kills": 0, "failed": 0, "retried": 0, "struck_after_its_report": 0},
    )
    rng = random.Random(seed)
    known = undisturbed(ITEMS)
    runs = 0
    while figures.values["kills"] < count and runs < 4 * count + 10:
        world = make_world(folder / f"world-{runs}", ITEMS)
        _strike(figures, world, rng, known, retries=runs % 2)
        runs += 1
    figures.expect(
        figures.values["kills"] == count,
        f"only {figures.values['kills']} kills in {runs} runs",
    )
    return figures


def _strike(
    figures: Figures,
    world: World,
    rng: random.Random,
    known: dict[str, str],
    retries: int,
) -> None:
    with world.start(*command("--retries", str(retries))) as running:
        running.wait_for("Executing")
        victim = (
            _kill_one(running.workers(), rng)
            if strike_moment(running, rng, ITEMS * 14)
            else None
        )
        finished = running.finish()
    if victim is None:
        return
    item = _item_of(world, victim)
    if item is None:
        return
    figures.add("kills")
    where = f"kill {figures.values['kills']} (item {item}, {retries} retries)"
    figures.expect("Traceback" not in finished.text, f"{where}: {finished.text}")
    summary = json.loads((world.run_folders[-1] / "summary.json").read_bytes())
    others = [entry for entry in summary["items"] if entry["id"] != item]
    figures.expect(
        len(others) == ITEMS - 1
        and all(e["status"] == "approved" and e["attempts"] == 1 for e in others),
        f"{where}: others were affected: {summary['counts']}",
    )
    (entry,) = (entry for entry in summary["items"] if entry["id"] == item)
    figures.expect_none(evidence.visible_problems(world, known), where)
    match entry["status"], entry["class"], entry["attempts"]:
        case "approved", None, 1:
            figures.add("struck_after_its_report")
        case "approved", None, 2 if retries:
            figures.add("retried")
        case "failed", "infra", 1 if not retries:
            figures.add("failed")
            figures.expect(
                finished.code == 1 and "SIGKILL" in entry["message"],
                f"{where}: {finished.text}",
            )
        case end:
            figures.misses.append(f"{where}: the item ended as {end}")
    rerun = world.run(*command())
    figures.expect(
        rerun.code == 0,
        f"{where}: the rerun ended with {rerun.code}: {rerun.text[-1000:]}",
    )
    figures.expect_none(evidence.end_problems(world, known, ITEMS), where)


def _kill_one(workers: list[psutil.Process], rng: random.Random) -> int | None:
    if not workers:
        return None
    victim = rng.choice(workers)
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        return None
    return victim.pid


def _item_of(world: World, pid: int) -> str | None:
    """Return the item that a worker said it was working on."""
    for item, runs in evidence.events_by_item(world).items():
        if any(evidence.has(events, "worker-ready", pid=pid) for events in runs):
            return item
    return None


if __name__ == "__main__":
    raise SystemExit(main(measure, 100))
