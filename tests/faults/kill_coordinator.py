"""Kill the coordinator with -9 at random moments and run the same command again until
all is done.
"""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

from tests.faults import evidence
from tests.faults.figures import Figures, main
from tests.faults.scene import (
    CALLS,
    NODES,
    command,
    make_world,
    strike_moment,
    undisturbed,
    wait_deserted,
)
from tests.support import SIGKILL, Running, World, wait_until

ITEMS = 20
KILLS_A_WORLD = 8


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Kill so many times, over as many worlds as it takes."""
    figures = Figures("kill_coordinator", seed, count, {"kills": 0, "worlds": 0})
    rng = random.Random(seed)
    known = undisturbed(items)
    while figures.values["kills"] < count:
        figures.add("worlds")
        world = make_world(folder / f"world-{figures.values['worlds']}", items)
        _torment(figures, world, rng, known, items)
    return figures


def _torment(
    figures: Figures,
    world: World,
    rng: random.Random,
    known: dict[str, str],
    items: int,
) -> None:
    for number in range(min(KILLS_A_WORLD, figures.count - figures.values["kills"])):
        with world.start(*command()) as running:
            if number == 0:
                # The fork server that has just been started is deaf while it imports.
                wait_until(
                    partial(_has_children, running), "the fork server was started"
                )
            elif not strike_moment(running, rng, items * 5):
                break
            running.signal(SIGKILL)
        figures.add("kills")
        where = f"kill {figures.values['kills']}"
        figures.expect("Traceback" not in running.text, f"{where}: {running.text}")
        figures.expect_none(wait_deserted(world, 1.0), where)
        figures.expect_none(evidence.database_problems(world), where)
        figures.expect_none(evidence.visible_problems(world, known), where)
    finished = world.run(*command())
    where = f"world {figures.values['worlds']}"
    figures.expect(
        finished.code == 0,
        f"{where}: ended with {finished.code}: {finished.text[-2000:]}",
    )
    # A kill between the last item and the summary leaves nothing to do, and so no run.
    has_run = "Nothing to do" not in finished.text
    problems = evidence.end_problems(world, known, items, has_run=has_run)
    figures.expect_none(problems, where)
    figures.expect_none(evidence.repetition_problems(world, NODES, CALLS), where)
    figures.add("stray_temporary_files_in_home", len(evidence.stray_in_home(world)))
    _count_repetitions(figures, world, items)


def _has_children(running: Running) -> bool:
    return bool(running.descendants())


def _count_repetitions(figures: Figures, world: World, items: int) -> None:
    runs = evidence.events_by_item(world)
    started = sum(
        e["event"] == "node-started"
        for item in runs.values()
        for events in item
        for e in events
    )
    figures.add("nodes_repeated", max(0, started - NODES * items))
    figures.add(
        "items_cut_in_flight",
        sum(not evidence.has(e, "ended") for item in runs.values() for e in item),
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 200))
