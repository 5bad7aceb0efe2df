"""How close do many items come to the time that their calls alone would take?"""

from __future__ import annotations

import heapq
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import Scene, find_program, scene
from benchmarks.trail import ItemTimes, read_items

ITEMS = 30
LATENCY = 1.0
SEQUENTIAL_LATENCY = 0.1
TARGET = 1.03
ROUNDS = 3
METHOD = (
    f"{ITEMS} items with calls of {LATENCY:g} s. Ideal: the same calls list-scheduled in order on as many machines, "
    "without any overhead. Measured from the start of the first item to the end of the last, both from the audit "
    "trails. So worker starts, checkpoints, drafting by rules and publishing are included; the start of the command "
    f"and of its fork server is not, and has its own line. Best of {ROUNDS} rounds, because others may use the "
    "machine. Compared with `xargs -P` that starts one command per item, from its start to its end. One at a time "
    f"is measured with calls of {SEQUENTIAL_LATENCY:g} s: its ratio shows the overhead that remains with such short "
    "calls."
)


@dataclass(frozen=True, slots=True)
class Span:
    """One run against its ideal."""

    seconds: float
    ideal: float
    startup: float
    """Seconds from the start of the command to the first item's."""
    whole: float
    """Seconds from the start of the command to its end."""
    overhead: float
    """Seconds an item takes beyond its calls, on average."""
    worker_cpu: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.ideal


def main() -> int:
    """Print the makespans as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Run the items three and ten at a time, each in turn with its peer, then one after
    the other.
    """
    figures: list[Figure] = []
    facts: dict[str, Any] = {}
    with scene(ITEMS) as place:
        for parallel in (3, 10):
            spans = [run_batch(place, parallel, LATENCY) for _ in range(ROUNDS)]
            # One round: it is slower by far more than any noise.
            peer, failures = run_xargs(place, parallel, LATENCY)
            best = min(spans, key=lambda span: span.ratio)
            figures += _figures(parallel, best, peer)
            facts[f"parallel {parallel}"] = _facts(best, spans) | {
                "xargs_seconds": round(peer, 2)
            }
            facts[f"parallel {parallel}"]["xargs_failed_commands"] = failures
        alone = run_batch(place, 1, SEQUENTIAL_LATENCY)
        name = f"makespan one after the other, calls of {SEQUENTIAL_LATENCY:g} s, over ideal"
        figures.append(Figure(name, alone.ratio, "x ideal"))
        facts["sequential"] = _facts(alone, [alone])
    return Result(__doc__ or "", METHOD, figures, facts)


def run_batch(place: Scene, parallel: int, latency: float) -> Span:
    """Run all items with one command."""
    place.reset()
    model = f"offline:latency={latency:g}"
    command = (
        "--all",
        "--parallel",
        str(parallel),
        "--drafter",
        model,
        "--reviewer",
        model,
    )
    observed = place.run("lld-workflow", *command)
    (folder,) = place.run_folders
    items = read_items(folder)
    began = min(item.began for item in items)
    return Span(
        seconds=max(item.ended for item in items) - began,
        ideal=schedule([len(item.calls) * latency for item in items], parallel),
        startup=began - observed.began,
        whole=observed.seconds,
        overhead=sum(_overhead(item, latency) for item in items) / len(items),
        worker_cpu=sum(item.worker_cpu for item in items) / len(items),
    )


def run_xargs(place: Scene, parallel: int, latency: float) -> tuple[float, int]:
    """Return the seconds of `xargs -P` with a command for each item, and how many of
    them left no design.
    """
    place.reset()
    model = f"offline:latency={latency:g}"
    command = [
        find_program("lld-workflow"),
        "--drafter",
        model,
        "--reviewer",
        model,
        "--issue",
    ]
    numbers = "\n".join(str(number) for number in range(1, ITEMS + 1))
    start = time.monotonic()
    subprocess.run(
        ["xargs", "-P", str(parallel), "-n", "1", *command],
        input=numbers.encode(),
        cwd=place.repo,
        env=dict(place.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    seconds = time.monotonic() - start
    return seconds, ITEMS - len(
        list((place.repo / "docs" / "lld" / "active").glob("*.md"))
    )


def schedule(durations: Sequence[float], machines: int) -> float:
    """Return when the last of these ends if each, in order, takes the machine that is
    free first.
    """
    free = [0.0] * machines
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def _overhead(item: ItemTimes, latency: float) -> float:
    return item.ended - item.began - len(item.calls) * latency


def _figures(parallel: int, best: Span, peer: float) -> list[Figure]:
    return [
        Figure(
            f"makespan {parallel} at a time, over ideal",
            best.ratio,
            "x ideal",
            TARGET,
            peer / best.ideal,
            f"xargs -P {parallel}, one command an item",
            f"{best.seconds:.2f} s, ideal {best.ideal:.0f} s",
        ),
        Figure(
            f"the same with the start of the command, {parallel} at a time",
            best.whole / best.ideal,
            "x ideal",
        ),
        Figure(
            f"start until the first item runs, {parallel} at a time", best.startup, "s"
        ),
    ]


def _facts(best: Span, spans: Sequence[Span]) -> dict[str, Any]:
    return {
        "ratios": [round(span.ratio, 3) for span in spans],
        "seconds": round(best.seconds, 3),
        "ideal": round(best.ideal, 3),
        "startup_seconds": round(best.startup, 3),
        "whole_seconds": round(best.whole, 3),
        "overhead_per_item_ms": round(best.overhead * 1000, 1),
        "worker_cpu_per_item_ms": round(best.worker_cpu * 1000, 1),
    }


if __name__ == "__main__":
    raise SystemExit(main())
