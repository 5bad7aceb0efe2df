"""Run a thousand stub workflows and look at what the coordinator itself costs, and
whether it grows.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from tests.faults.figures import Figures, main
from tests.faults.scene import make_world
from tests.support import Running

# The stub is a drafter whose answer no rule accepts: one call, four steps, and no work
# in the provider.
STUB = (
    "lld-workflow",
    "--all",
    "--parallel",
    "10",
    "--max-rounds",
    "1",
    "--drafter",
    "offline:fault=malformed",
    "-q",
)
MOST_CPU = 0.005
MOST_WORKER_MEMORY = 50_000_000
SLACK = 12
DRY_RUN_ITEMS = 10_000
LONGEST_DRY_RUN = 2.0
PAUSE = 0.02


@dataclass
class Watch:
    """What was seen of a running batch."""

    cpu: float = 0.0
    handles: list[tuple[int, int, int]] = field(default_factory=list)
    """Open files, threads and zombies."""
    memory: list[int] = field(default_factory=list)
    worker_memory: list[int] = field(default_factory=list)

    def look(self, running: Running) -> None:
        """Take one sample; what is gone meanwhile is not counted."""
        coordinator = psutil.Process(running.pid)
        try:
            times = coordinator.cpu_times()
            self.cpu = times.user + times.system
            children = running.descendants()
            zombies = sum(child.status() == psutil.STATUS_ZOMBIE for child in children)
            self.handles.append(
                (coordinator.num_fds(), coordinator.num_threads(), zombies)
            )
            self.memory.append(coordinator.memory_info().rss)
            if len(self.handles) % 10 == 0:
                self.worker_memory += [
                    worker.memory_full_info().uss for worker in running.workers()[:1]
                ]
        except psutil.Error:
            pass


def measure(seed: int, count: int, folder: Path, *, is_whole: bool = True) -> Figures:
    """Run so many stubs; in the whole version hold the cost to the budget and list ten
    thousand items.
    """
    figures = Figures("scale", seed, count)
    world = replace(make_world(folder / "world", count), is_recorded=False)
    watch = Watch()
    with world.start(*STUB) as running:
        while running.process.poll() is None:
            watch.look(running)
            time.sleep(PAUSE)
        finished = running.finish()
    figures.expect(
        finished.code == 0, f"ended with {finished.code}: {finished.text[-1000:]}"
    )
    figures.expect(
        f"{count} need revision" in finished.stdout, f"said {finished.stdout[-300:]}"
    )
    quarter = max(1, len(watch.handles) // 4)
    early, late = watch.handles[quarter : 2 * quarter], watch.handles[-quarter:]
    for place, name in enumerate(("open_files", "threads", "zombies")):
        # A median: how many workers a single look meets depends on the machine.
        before = statistics.median(sample[place] for sample in early)
        after = statistics.median(sample[place] for sample in late)
        figures.values[name] = [before, after]
        figures.expect(after <= before + SLACK, f"{name} grew from {before} to {after}")
    figures.values |= {
        "run_seconds": round(finished.seconds, 2),
        "coordinator_cpu_ms_an_item": round(1000 * watch.cpu / count, 2),
        "coordinator_growth_megabytes": round(
            (max(watch.memory) - watch.memory[quarter]) / 1e6, 1
        ),
        "largest_worker_megabytes": round(max(watch.worker_memory, default=0) / 1e6, 1),
    }
    figures.expect(
        max(watch.worker_memory, default=0) <= MOST_WORKER_MEMORY,
        "a worker is over its budget",
    )
    if is_whole:
        figures.expect_swift(
            watch.cpu / count <= MOST_CPU,
            f"{1000 * watch.cpu / count:.1f} ms of coordinator CPU an item",
        )
        _list_many(figures, folder)
    return figures


def _list_many(figures: Figures, folder: Path) -> None:
    world = replace(make_world(folder / "many", DRY_RUN_ITEMS), is_recorded=False)
    finished = world.run("lld-workflow", "--all", "--dry-run")
    figures.values["dry_run_seconds"] = round(finished.seconds, 2)
    figures.expect(
        finished.code == 0 and f"{DRY_RUN_ITEMS} items" in finished.stdout,
        finished.text[:300],
    )
    figures.expect_swift(
        finished.seconds <= LONGEST_DRY_RUN, f"a dry run took {finished.seconds:.1f} s"
    )
    figures.expect(not world.home.exists(), "a dry run made a home")


if __name__ == "__main__":
    raise SystemExit(main(measure, 1000))
