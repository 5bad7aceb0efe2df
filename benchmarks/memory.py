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
MARKS = (100, 750, 1_500)
LOOK_EVERY = 0.25
TARGET = 1.1
METHOD = (
    "The most memory that the coordinator's process had resident (VmHWM), its children not counted. Library: functions "
    f"that do nothing, {FEW} and {MANY:,}; a process pool beside it. Command: one run of {MARKS[2]:,} real items at "
    f"`--parallel {PARALLEL}`, looked at when {', '.join(f'{mark:,}' for mark in MARKS)} had ended. {MANY:,} would "
    f"take too long: the growth over the second half, when caches are full, is carried on to {MANY:,}. Flat means "
    f"at most {TARGET:g} times."
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
    with scene(MARKS[-1]) as place:
        peaks = measure_command(place)
    few, half, whole = (peaks[mark] for mark in MARKS)
    growth = (whole - half) / (MARKS[2] - MARKS[1])
    carried_on = whole + growth * (MANY - MARKS[2])
    figures = [
        Figure(
            f"coordinator memory, library, {MANY:,} over {FEW} tasks",
            library[1] / library[0],
            "x",
            TARGET,
            pool[1] / pool[0],
            "ProcessPoolExecutor",
        ),
        Figure(f"coordinator memory, command, {MARKS[2]:,} over {FEW} items", whole / few, "x"),
        Figure(f"coordinator memory, command, {MANY:,} (carried on) over {FEW} items", carried_on / few, "x", TARGET),
        Figure("growth of the coordinator's memory, command", growth, "bytes an item"),
    ]
    facts = {
        "library_mb": [_megabytes(peak) for peak in library],
        "library_growth_bytes_per_task": round((library[1] - library[0]) / (MANY - FEW)),
        "process_pool_mb": [_megabytes(peak) for peak in pool],
        "command_mb": {str(mark): _megabytes(peak) for mark, peak in peaks.items()},
        "command_mb_carried_on": _megabytes(carried_on),
    }
    return Result(__doc__ or "", METHOD, figures, facts)


def measure_program(program: str, count: int) -> int:
    """Return the peak of a small program, as it sees it itself at its end."""
    command = [sys.executable, "-c", program + TELL_PEAK, str(count)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure_command(place: Scene) -> Mapping[int, int]:
    """Return the coordinator's peak by how many items had ended, in one run of all."""
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

    observed = place.finish(process, look)
    # The last look may have come before the last item's end.
    peaks[MARKS[-1]] = observed.peak_memory
    return peaks


def _megabytes(size: float) -> float:
    return round(size / 1e6, 1)


if __name__ == "__main__":
    raise SystemExit(main())
