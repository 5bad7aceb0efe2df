"""Does the coordinator's memory stay flat as the number of items grows?"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import Scene, find_program, scene

PARALLEL = 10
FEW, MANY = 100, 10_000
REAL_FEW, REAL_MANY = 100, 1_000
TARGET = 1.1
METHOD = (
    f"The most memory that the coordinator's process had resident (VmHWM), its children not counted. Library: functions "
    f"that do nothing, {FEW} and {MANY:,}; a process pool beside it. Command: real items at `--parallel {PARALLEL}`, "
    f"{REAL_FEW} and {REAL_MANY:,}; {MANY:,} would take too long, so the growth an item is measured and carried on to "
    f"{MANY:,}. Flat means at most {TARGET:g} times."
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
import agentos.workflows.parallel.coordinator
with ProcessPoolExecutor(10) as pool:
    results = [f.result() for f in [pool.submit(do_nothing, n) for n in range(int(sys.argv[1]))]]
"""
TELL_PEAK = "from benchmarks.scene import peak_memory; import os; print(peak_memory(os.getpid()))\n"


def main() -> int:
    """Print memory and its growth as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Measure the library, a pool, and the whole command at two sizes each."""
    library = [measure_program(LIBRARY, count) for count in (FEW, MANY)]
    pool = [measure_program(POOL, count) for count in (FEW, MANY)]
    with scene(REAL_FEW) as place:
        few = measure_command(place)
    with scene(REAL_MANY) as place:
        many = measure_command(place)
    growth = (many - few) / (REAL_MANY - REAL_FEW)
    carried_on = few + growth * (MANY - REAL_FEW)
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
            f"coordinator memory, command, {MANY:,} (carried on) over {REAL_FEW} items", carried_on / few, "x", TARGET
        ),
        Figure("growth of the coordinator's memory, command", growth, "bytes an item"),
    ]
    facts = {
        "library_mb": [_megabytes(peak) for peak in library],
        "library_growth_bytes_per_task": round((library[1] - library[0]) / (MANY - FEW)),
        "process_pool_mb": [_megabytes(peak) for peak in pool],
        "command_mb": [_megabytes(few), _megabytes(many)],
    }
    return Result(__doc__ or "", METHOD, figures, facts)


def measure_program(program: str, count: int) -> int:
    """Return the peak of a small program, as it sees it itself at its end."""
    command = [sys.executable, "-c", program + TELL_PEAK, str(count)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure_command(place: Scene) -> int:
    """Return the coordinator's peak over a run of every item."""
    return place.run(find_program("lld-workflow"), "--all", "--parallel", str(PARALLEL)).peak_memory


def _megabytes(size: int) -> float:
    return round(size / 1e6, 1)


if __name__ == "__main__":
    raise SystemExit(main())
