"""Press Ctrl+C at random moments while calls hang and, now and then, a worker ignores
SIGTERM.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.faults import evidence
from tests.faults.figures import Figures, main, percentile
from tests.faults.scene import (
    command,
    hold_a_worker,
    make_world,
    strike_moment,
    undisturbed,
    wait_deserted,
)
from tests.support import SIGINT, World, ended_by

ITEMS = 6
STUBBORN_EVERY = 4
LONGEST = 5.0
USUAL = 2.0
EARLY_FOR_EACH = 4
EARLY = (0.02, 0.3)
LOST_AFTER = 8.0


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Interrupt so many runs; time the end of each; then run each to its end."""
    figures = Figures("interrupt", seed, count, {"early": 0, "early_tracebacks": 0})
    rng = random.Random(seed)
    known = undisturbed(ITEMS)
    usual: list[float] = []
    stubborn: list[float] = []
    for number in range(1, count + 1):
        world = make_world(folder / f"world-{number}", ITEMS)
        where = f"interrupt {number}"
        is_stubborn, seconds = _interrupt(
            figures, world, rng, where, wants_stubborn=number % STUBBORN_EVERY == 0
        )
        (stubborn if is_stubborn else usual).append(seconds)
        _resume(figures, world, known, where)
        for early in range(EARLY_FOR_EACH):
            _interrupt_early(
                figures, make_world(folder / f"early-{number}-{early}", 1), rng, where
            )
    figures.values |= {
        "with_stubborn_worker": len(stubborn),
        "longest_seconds": percentile(usual + stubborn, 1),
        "p95_seconds": percentile(usual, 0.95),
        "p95_seconds_with_stubborn_worker": percentile(stubborn, 0.95),
    }
    figures.expect_swift(
        max(usual + stubborn) <= LONGEST, f"took {max(usual + stubborn):.2f} s to end"
    )
    figures.expect_swift(
        figures.values["p95_seconds"] <= USUAL,
        f"p95 is {figures.values['p95_seconds']} s",
    )
    return figures


def _interrupt(
    figures: Figures,
    world: World,
    rng: random.Random,
    where: str,
    *,
    wants_stubborn: bool,
) -> tuple[bool, float]:
    is_stubborn = False
    with world.start(
        *command(drafter=",fault=hang@2", reviewer=",fault=hang@4")
    ) as running:
        if wants_stubborn:
            running.wait_for("Executing", times=rng.randint(5, 20))
            is_stubborn = hold_a_worker(running, rng)
        else:
            strike_moment(running, rng, ITEMS * 7)
        struck = time.monotonic()
        running.signal(SIGINT)
        finished = running.finish()
        seconds = time.monotonic() - struck
    figures.expect(
        ended_by(finished.code, SIGINT),
        f"{where}: ended with {finished.code}: {finished.text}",
    )
    figures.expect("Traceback" not in finished.text, f"{where}: {finished.text}")
    if "items to run" in finished.stderr:
        figures.expect(
            "Shutting down... waiting for workers" in finished.stderr,
            f"{where}: {finished.stderr}",
        )
        figures.expect(
            "Stopped early" in finished.stdout, f"{where}: no summary: {finished.text}"
        )
    figures.expect_none(wait_deserted(world, 1.0), where)
    return is_stubborn, seconds


def _interrupt_early(
    figures: Figures, world: World, rng: random.Random, where: str
) -> None:
    """Interrupt a command that still imports; only the interpreter's own start may
    answer with a traceback.
    """
    with world.start(*command(drafter=",fault=hang")) as running:
        time.sleep(rng.uniform(*EARLY))
        running.signal(SIGINT)
        if not running.ends_within(LOST_AFTER):
            # In its first moments the interpreter may drop the exception that Ctrl+C
            # is; it says so.
            is_lost_by_python = "KeyboardInterrupt" in running.text
            figures.add("lost_by_the_interpreter", is_lost_by_python)
            figures.expect(
                is_lost_by_python,
                f"{where}, early: Ctrl+C went unheard: {running.text[-600:]}",
            )
            running.signal(SIGINT)
        finished = running.finish()
    is_ours = "Traceback" in finished.text and "agentos/cli" in finished.text
    figures.add("early")
    figures.add("early_tracebacks", is_ours)
    figures.expect(not is_ours, f"{where}, early: {finished.text[-600:]}")
    figures.expect_none(wait_deserted(world, 1.0), f"{where}, early")


def _resume(figures: Figures, world: World, known: dict[str, str], where: str) -> None:
    finished = world.run(*command(latency=0))
    figures.expect(
        finished.code == 0,
        f"{where}: the rerun ended with {finished.code}: {finished.text[-1000:]}",
    )
    figures.expect_none(evidence.end_problems(world, known, ITEMS), where)


if __name__ == "__main__":
    raise SystemExit(main(measure, 100))
