"""How much does each task cost the coordinator?"""

from __future__ import annotations

import shutil
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import median

from agentos.workflows.parallel.coordinator import ParallelCoordinator
from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import Observed, Scene, scene
from benchmarks.trail import read_items

TASKS = 10_000
PARALLEL = 10
PARALLEL_TASKS = 1_000
SMALL, LARGE = 20, 220
ROUNDS = 3
TARGET = 2.0
METHOD = (
    f"Library: `ParallelCoordinator({PARALLEL})` over {TASKS:,} functions that do nothing, alternating with a "
    f"process pool over the same functions and with `parallel -j{PARALLEL} true` over {PARALLEL_TASKS:,}; wall time "
    f"per task, best of {ROUNDS}. Command: CPU time of the coordinator's own process, without its children, for "
    f"{LARGE} items minus that for {SMALL} items. So its start is not included, but locks, audit, console, "
    "publishing and records are. The offline rules play the model inside the coordinator. Their share, measured "
    "with calls made one at a time, is subtracted and listed in the facts."
)


def main() -> int:
    """Print the cost of a task as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Measure the library, its peers, and the whole command."""
    ours, pool, gnu = [], [], []
    for _ in range(ROUNDS):
        ours.append(time_coordinator())
        pool.append(time_pool())
        if shutil.which("parallel"):
            gnu.append(time_gnu_parallel())
    with scene(SMALL) as place:
        answering = measure_answering(place)
        place.reset()
        small = run_all(place)
    with scene(LARGE) as place:
        large = run_all(place)
    cpu = (large.cpu_seconds - small.cpu_seconds) / (LARGE - SMALL) * 1000
    own = cpu - answering
    figures = [
        Figure(
            "dispatch of a task, library",
            min(ours),
            "ms",
            TARGET,
            min(pool),
            "ProcessPoolExecutor",
        ),
        Figure(
            "dispatch of an item, whole command, coordinator's processor time",
            own,
            "ms",
            TARGET,
            min(gnu) if gnu else None,
            "GNU parallel running `true`, wall time" if gnu else "",
        ),
    ]
    facts = {
        "library_ms": [round(ms, 3) for ms in ours],
        "process_pool_ms": [round(ms, 3) for ms in pool],
        "gnu_parallel_ms": [round(ms, 3) for ms in gnu],
        "command_cpu_ms_per_item": round(cpu, 2),
        "of_which_offline_rules_ms": round(answering, 2),
        "command_wall_ms_per_item": round(
            (large.seconds - small.seconds) / (LARGE - SMALL) * 1000, 2
        ),
    }
    return Result(__doc__ or "", METHOD, figures, facts)


def do_nothing(item: int, credential: str | None = None) -> None:
    """Be a task."""
    del item, credential


def time_coordinator() -> float:
    """Return the milliseconds a task of our coordinator."""
    coordinator = ParallelCoordinator(PARALLEL)
    start = time.perf_counter()
    stats, _ = coordinator.execute_parallel(range(TASKS), do_nothing)
    seconds = time.perf_counter() - start
    assert stats.success_count == TASKS
    return seconds / TASKS * 1000


def time_pool() -> float:
    """Return the milliseconds a task of a process pool, its start included."""
    start = time.perf_counter()
    with ProcessPoolExecutor(PARALLEL) as pool:
        for future in [pool.submit(do_nothing, number) for number in range(TASKS)]:
            future.result()
    return (time.perf_counter() - start) / TASKS * 1000


def time_gnu_parallel() -> float:
    """Return the milliseconds a task of GNU parallel, its start included."""
    numbers = [str(number) for number in range(PARALLEL_TASKS)]
    start = time.perf_counter()
    subprocess.run(
        ["parallel", "--will-cite", f"-j{PARALLEL}", "true", ":::", *numbers],
        check=True,
    )
    return (time.perf_counter() - start) / PARALLEL_TASKS * 1000


def measure_answering(place: Scene) -> float:
    """Return the milliseconds that the offline rules take for one item."""
    place.run("lld-workflow", "--all")
    (folder,) = place.run_folders
    return median(sum(item.calls) for item in read_items(folder)) * 1000


def run_all(place: Scene) -> Observed:
    """Run every item, ten at a time."""
    return place.run("lld-workflow", "--all", "--parallel", str(PARALLEL))


if __name__ == "__main__":
    raise SystemExit(main())
