"""The figures of a fault: what was measured, which promise was missed, and the command
line around it.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import PATIENCE, ROOT

SHOWN_MISSES = 20


@dataclass
class Figures:
    """What one series of faults did."""

    fault: str
    seed: int
    count: int
    values: dict[str, Any] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)
    delays: list[str] = field(default_factory=list)
    """What took too long: judged when a series runs by itself, for beside other tests a
    clock says nothing.
    """

    def expect(self, holds: bool, miss: str) -> None:
        """Note a missed promise."""
        if not holds:
            self.misses.append(miss)

    def expect_swift(self, holds: bool, miss: str) -> None:
        """Note a promise about time that was missed."""
        if not holds:
            self.delays.append(miss)

    def expect_none(self, problems: Sequence[str], where: str) -> None:
        """Note every problem that was found."""
        self.misses.extend(f"{where}: {problem}" for problem in problems)

    def add(self, name: str, number: float = 1) -> None:
        """Add to a sum."""
        self.values[name] = self.values.get(name, 0) + number

    def raise_to(self, name: str, number: float) -> None:
        """Keep the largest value seen."""
        self.values[name] = max(self.values.get(name, 0), round(number, 3))

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {
            "fault": self.fault,
            "seed": self.seed,
            "count": self.count,
            "passed": not (self.misses or self.delays),
            **self.values,
            "missed": len(self.misses),
            "misses": self.misses[:SHOWN_MISSES],
            "delays": self.delays[:SHOWN_MISSES],
        }


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values does not exceed."""
    ordered = sorted(values)
    return (
        round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)
        if ordered
        else 0.0
    )


def main(
    measure: Callable[[int, int, Path], Figures],
    count: int,
    argv: Sequence[str] | None = None,
) -> int:
    """Measure in a folder that is removed afterwards, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    args = parser.parse_args(argv)
    for number in (signal.SIGINT, signal.SIGHUP):
        # Started in the background, or under nohup, this would hand on that they are
        # ignored.
        signal.signal(number, signal.SIG_DFL)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentos-fault-") as folder:
        figures = measure(args.seed, args.count, Path(folder))
    figures.values["seconds"] = round(time.monotonic() - started, 1)
    json.dump(figures.to_json(), sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 1 if figures.misses or figures.delays else 0


def find_misses(fault: str, *arguments: str) -> list[str]:
    """Run a fault whose module forks, and so needs a process with one thread; return
    its misses.
    """
    finished = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{fault}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert finished.stdout, finished.stderr
    return list(json.loads(finished.stdout)["misses"])
