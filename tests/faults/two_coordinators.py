"""Start two coordinators on the same items at the same time; then kill one that holds
locks and start the next.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.faults import evidence
from tests.faults.figures import Figures, main
from tests.faults.scene import command, make_world, undisturbed, wait_lines
from tests.support import SIGKILL, World

ITEMS = 6


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Race so many pairs, and after each race take over from a killed coordinator."""
    figures = Figures(
        "two_coordinators", seed, count, {"left_to_the_other": 0, "taken_over": 0}
    )
    rng = random.Random(seed)
    known = undisturbed(ITEMS)
    for number in range(1, count + 1):
        _race(
            figures,
            make_world(folder / f"race-{number}", ITEMS),
            known,
            f"race {number}",
        )
        _take_over(
            figures,
            make_world(folder / f"heir-{number}", ITEMS),
            rng,
            known,
            f"takeover {number}",
        )
    return figures


def _race(figures: Figures, world: World, known: dict[str, str], where: str) -> None:
    with (
        world.start(*command(parallel=3)) as one,
        world.start(*command(parallel=3)) as two,
    ):
        ends = [one.finish(), two.finish()]
    for end, other in zip(ends, (two, one), strict=True):
        figures.expect(
            end.code == 0, f"{where}: ended with {end.code}: {end.text[-1500:]}"
        )
        figures.expect("Traceback" not in end.text, f"{where}: {end.text}")
        holders = re.findall(r"locked by pid (\d+)", end.stderr)
        figures.add("left_to_the_other", len(holders))
        wrong = [pid for pid in holders if pid != str(other.pid)]
        figures.expect(
            not wrong, f"{where}: names pids {wrong}, the other is {other.pid}"
        )
    for item, runs in evidence.events_by_item(world).items():
        begun = sum(evidence.has(events, "started") for events in runs)
        ended = sum(evidence.has(events, "ended", state="approved") for events in runs)
        figures.expect(
            (begun, ended) == (1, 1),
            f"{where}: item {item} begun {begun} and approved {ended} times",
        )
    figures.expect_none(evidence.end_problems(world, known, ITEMS), where)


def _take_over(
    figures: Figures,
    world: World,
    rng: random.Random,
    known: dict[str, str],
    where: str,
) -> None:
    with world.start(*command()) as first:
        first.wait_for("Executing")
        wait_lines(first, rng.randint(1, ITEMS * 10))
        first.signal(SIGKILL)
        first.process.wait()
        heir = world.run(*command())
    figures.expect(
        heir.code == 0, f"{where}: the heir ended with {heir.code}: {heir.text[-1500:]}"
    )
    figures.expect(
        "locked by pid" not in heir.text,
        f"{where}: the heir found items locked: {heir.stderr}",
    )
    figures.expect_none(evidence.end_problems(world, known, ITEMS), where)
    figures.add("taken_over")


if __name__ == "__main__":
    raise SystemExit(main(measure, 100))
