"""How soon is a worker ready, and how much private memory does it take, with ten
running?
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress

import psutil

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import PATIENCE, Scene, scene, wait_for_text
from benchmarks.trail import read_items, read_workers

PARALLEL = 10
STARTS = 200
PEER_STARTS = 5
READY_MEDIAN, READY_P99, MEMORY = 50.0, 100.0, 20.0
METHOD = (
    "Ready: milliseconds from an item's request for a worker until the worker reports that it is ready, from the "
    f"audit trails. If a worker was forked in advance, that fork is not included. {STARTS} items at `--parallel "
    f"{PARALLEL}` with calls of 0.3 s, so that ten are always running. Memory: private memory (USS) of {PARALLEL} "
    "workers that wait for their review, read from outside. Compared with a fresh interpreter that imports the same "
    "runner, one at a time."
)
FRESH = "import agentos.workflows.engine.runner, sys; print('ready', flush=True); sys.stdin.read()"


def main() -> int:
    """Print start times and memory as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Measure starts and memory, and a fresh interpreter beside them."""
    with scene(STARTS) as place:
        ready = measure_ready(place)
        own, spare = measure_memory(place)
        fresh = [measure_fresh(place) for _ in range(PEER_STARTS)]
    fresh_ms = statistics.median(seconds for seconds, _ in fresh) * 1000
    fresh_mb = statistics.median(memory for _, memory in fresh)
    peer = "a fresh interpreter with the same imports"
    figures = [
        Figure(
            "worker ready, median",
            statistics.median(ready),
            "ms",
            READY_MEDIAN,
            fresh_ms,
            peer,
        ),
        Figure("worker ready, p99", percentile(ready, 99), "ms", READY_P99),
        Figure(
            "private memory of a worker, largest of ten",
            max(own),
            "MB",
            MEMORY,
            fresh_mb,
            peer,
        ),
    ]
    facts = {
        "ready_ms": {
            f"p{p}": round(percentile(ready, p), 1)
            for p in (5, 25, 50, 75, 90, 95, 99, 100)
        },
        "workers_started": len(ready),
        "uss_mb": [round(memory, 1) for memory in sorted(own)],
        "uss_mb_of_spare_workers": [round(memory, 1) for memory in sorted(spare)],
    }
    return Result(__doc__ or "", METHOD, figures, facts)


def measure_ready(place: Scene) -> list[float]:
    """Return the milliseconds of every worker start of a batch."""
    model = "offline:latency=0.3"
    place.run(
        "lld-workflow",
        "--all",
        "--parallel",
        str(PARALLEL),
        "--drafter",
        model,
        "--reviewer",
        model,
    )
    (folder,) = place.run_folders
    return [ready for item in read_items(folder) for ready in item.worker_ready]


def measure_memory(place: Scene) -> tuple[list[float], list[float]]:
    """Return the private megabytes of ten workers that wait in a call, and of those
    that wait for work.
    """
    place.reset()
    model = "offline:latency=20"
    process = place.start(
        "lld-workflow", "--all", "--parallel", str(PARALLEL), "--reviewer", model
    )
    try:
        wait_for_text(place, process, "N3_review", PARALLEL)
        (folder,) = place.run_folders
        busy = {
            pid
            for path in folder.glob("workflow-audit-*.jsonl")
            for pid in read_workers(path)
        }
        assert len(busy) == PARALLEL, f"{len(busy)} workers are running"
        children = psutil.Process(process.pid).children(recursive=True)
        workers = [child for child in children if child.ppid() != process.pid]
        memory = {}
        for worker in workers:
            # A worker that is not needed any more may end while this reads.
            with suppress(psutil.NoSuchProcess):
                memory[worker.pid] = worker.memory_full_info().uss / 1e6
        spare = [memory[pid] for pid in memory if pid not in busy]
        return [memory[pid] for pid in busy], spare
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def measure_fresh(place: Scene) -> tuple[float, float]:
    """Return the seconds until a fresh interpreter has everything imported, and its
    private megabytes.
    """
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", FRESH],
        env=dict(place.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        seconds = time.perf_counter() - start
        memory = psutil.Process(process.pid).memory_full_info().uss / 1e6
        process.communicate()
    return seconds, memory


def percentile(numbers: list[float], percent: float) -> float:
    """Return the smallest number that so many percent of all do not exceed."""
    ordered = sorted(numbers)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


if __name__ == "__main__":
    raise SystemExit(main())
