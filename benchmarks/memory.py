"""Does the coordinator's memory stay flat as the number of items grows?"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import Scene, peak_memory, scene

PARALLEL = 10
FEW, MANY = 100, 10_000
ITEMS = 3_000
MARKS = (100, 1_500, 2_900)
LOOK_EVERY = 0.25
TARGET = 1.1
METHOD = (
    "Peak resident memory (VmHWM) of the coordinator's process, without its children. Library: functions that do "
    f"nothing, {FEW} and {MANY:,}, compared with a process pool. Command: one run of {ITEMS:,} real items at "
    f"`--parallel {PARALLEL}`, read when {', '.join(f'{mark:,}' for mark in MARKS)} items had ended, and at its end, "
    f"when the summary of all items is made. {MANY:,} items would take too long. So the growth over the second half "
    f"and the share of the summary are extrapolated linearly to {MANY:,}, as if caches that fill up on the way never "
    f"did. Flat means at most {TARGET:g} times."
)
LIBRARY = """\
import sys
from agentos.workflows.parallel.coordinator import ParallelCoordinator
from benchmarks.dispatch import do_nothing
ParallelCoordinator(10).execute_parallel(range(int(sys.argv[1])), do_nothing)
"""
POOL = """\
import sys
from concurrent.futures import ProcessPoolExecutor
from benchmarks.dispatch import do_nothing
with ProcessPoolExecutor(10) as pool:
    results = [f.result() for f in [pool.submit(do_nothing, n) for n in range(int(sys.argv[1]))]]
"""
TELL_PEAK = "from benchmarks.scene import peak_memory; import os; print(peak_memory(os.getpid()))\n"


def main() -> int:
    """Print memory and its growth as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Measure the library and a pool at two sizes, and the command as it goes."""
    library = [measure_program(LIBRARY, count) for count in (FEW, MANY)]
    pool = [measure_program(POOL, count) for count in (FEW, MANY)]
    with scene(ITEMS) as place:
        peaks, end = measure_command(place)
    few, half, late = (peaks[mark] for mark in MARKS)
    growth = (late - half) / (MARKS[2] - MARKS[1])
    for_summary = max(0.0, end - late - growth * (ITEMS - MARKS[2])) / ITEMS
    carried_on = end + (growth + for_summary) * (MANY - ITEMS)
    figures = [
        Figure(
            f"coordinator memory, library, {MANY:,} over {FEW} tasks",
            library[1] / library[0],
            "x",
            TARGET,
            pool[1] / pool[0],
            "ProcessPoolExecutor",
        ),
        Figure(
            f"coordinator memory, command, {ITEMS:,} over {FEW} items", end / few, "x"
        ),
        Figure(
            f"coordinator memory, command, {MANY:,} (carried on) over {FEW} items",
            carried_on / few,
            "x",
            TARGET,
        ),
        Figure(
            "growth of the coordinator's memory while it runs, command",
            growth,
            "bytes an item",
        ),
        Figure(
            "memory for the summary at the end, command", for_summary, "bytes an item"
        ),
    ]
    facts = {
        "library_mb": [_megabytes(peak) for peak in library],
        "library_growth_bytes_per_task": round(
            (library[1] - library[0]) / (MANY - FEW)
        ),
        "process_pool_mb": [_megabytes(peak) for peak in pool],
        "command_mb": {str(mark): _megabytes(peak) for mark, peak in peaks.items()},
        "command_mb_at_the_end": _megabytes(end),
        "command_mb_carried_on": _megabytes(carried_on),
    }
    return Result(__doc__ or "", METHOD, figures, facts)


def measure_program(program: str, count: int) -> int:
    """Return the peak of a small program, as it sees it itself at its end."""
    command = [sys.executable, "-c", program + TELL_PEAK, str(count)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure_command(place: Scene) -> tuple[Mapping[int, int], int]:
    """Return the coordinator's peak by how many items had ended, and at the end, in one
    run of all.
    """
    peaks: dict[int, int] = {}
    records = place.home / "items"
    next_look = 0.0
    process = place.start("lld-workflow", "--all", "--parallel", str(PARALLEL))

    def look() -> None:
        nonlocal next_look
        if time.monotonic() < next_look or len(peaks) == len(MARKS):
            return
        next_look = time.monotonic() + LOOK_EVERY
        ended = sum(1 for _ in records.glob("*/*.json"))
        peak = peak_memory(process.pid)
        for mark in MARKS:
            if ended >= mark and peak:
                peaks.setdefault(mark, peak)

    return peaks, place.finish(process, look).peak_memory


def _megabytes(size: float) -> float:
    return round(size / 1e6, 1)


if __name__ == "__main__":
    raise SystemExit(main())
