"""Run items of equal length at several degrees of parallelism and compare with one at a
time.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.faults.figures import Figures, main
from tests.faults.scene import command, make_world
from tests.support import PATIENCE

LEAST_SHARE = 0.9
BATCH_SECONDS = 12.0
"""How long a batch must take at the least: its start is in the figures, and weighs
little in batches of real length.
"""
ROUNDS = 2
CALLS = 2 * ROUNDS


def measure(
    seed: int,
    count: int,
    folder: Path,
    *,
    sizes: tuple[int, ...] = (6, 30),
    degrees: tuple[int, ...] = (2, 3, 10),
    latency: float | None = None,
) -> Figures:
    """Compare so many times; a degree above the number of items counts as that
    number.
    """
    figures = Figures("speed_up", seed, count)
    for attempt in range(1, count + 1):
        for size in sizes:
            place = folder / f"{attempt}-{size}"
            # Each item asks one model after the other; with as many at once as there
            # are, it alone is the batch.
            seconds_a_call = latency or BATCH_SECONDS / CALLS / -(-size // max(degrees))
            alone, artefacts = _run(figures, place / "1", size, 1, seconds_a_call)
            figures.values[f"{size}_items_at_1"] = round(alone, 2)
            for degree in degrees:
                seconds, others = _run(
                    figures, place / str(degree), size, degree, seconds_a_call
                )
                # Waves: 6 items at 4 take as long as 2 items one after the other.
                ideal = alone * -(-size // degree) / size
                share = ideal / seconds
                name = f"{size}_items_at_{degree}"
                figures.values[name] = {
                    "seconds": round(seconds, 2),
                    "share_of_ideal": round(share, 3),
                }
                figures.expect_swift(
                    share >= LEAST_SHARE,
                    f"{name}: {share:.0%} of the speed-up that is possible",
                )
                figures.expect(
                    others == artefacts, f"{name}: other artefacts than one at a time"
                )
    return figures


def _run(
    figures: Figures, place: Path, size: int, degree: int, latency: float
) -> tuple[float, dict[str, str]]:
    world = make_world(place, size)
    with world.start(
        *command(parallel=degree, latency=latency, rounds=ROUNDS)
    ) as running:
        finished = running.finish(patience=PATIENCE + size * CALLS * latency)
    figures.expect(
        finished.code == 0,
        f"{size} items at {degree}: ended with {finished.code}: {finished.text[-500:]}",
    )
    summary = json.loads((world.run_folders[-1] / "summary.json").read_bytes())
    return float(summary["seconds"]), world.artefacts()


if __name__ == "__main__":
    raise SystemExit(main(measure, 1))
