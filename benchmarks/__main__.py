"""Run all benchmarks, each in a process of its own, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.page import Data, render_page, render_table

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    "makespan",
    "workers",
    "dispatch",
    "memory",
    "commands",
    "interruption",
    "prefixing",
    "throughput",
    "gateway",
    "implementation",
)


def main(argv: list[str] | None = None) -> int:
    """Run the named benchmarks; all of them, and the page, when none is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(NAMES)}"
    )
    names = parser.parse_args(argv).names
    if unknown := set(names) - set(NAMES):
        parser.error(
            f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}"
        )
    start, machine = time.monotonic(), describe_machine()
    results = {name: run(name) for name in names or NAMES}
    if names:
        print(render_table(list(results.values())))
        return 0
    minutes = max(1, round((time.monotonic() - start) / 60))
    date = datetime.now(UTC).date().isoformat()
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(render_page(results, machine, date, minutes), "utf-8")
    print(f"{path.relative_to(ROOT)} written after {minutes} min")
    return 0


def run(name: str) -> Data:
    """Run one benchmark and return what it printed."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    printed = json.loads(
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    )
    assert isinstance(printed, dict)
    return printed if "figures" in printed else convert_prefixing(printed)


def convert_prefixing(data: Mapping[str, Any]) -> Data:
    """Express lines a second as the time a line takes, so that smaller is better here
    too.
    """
    from benchmarks.figures import Figure, Result

    ours, theirs = data["console_lines_per_s"], data["gnu_parallel_lines_per_s"]
    figures = [
        Figure(
            "prefixing and logging a line",
            1e6 / ours,
            "us",
            1e6 / theirs if theirs else None,
            1e6 / theirs if theirs else None,
            "GNU parallel --tag --line-buffer, without logs" if theirs else "",
            f"{ours:,} lines/s",
        )
    ]
    method = (
        f"{data['producers']} processes print {data['lines']:,} lines in all, best of alternating rounds; "
        "the target is to be no slower than GNU parallel, which writes no log files."
    )
    return Result(
        "How fast is output prefixed and logged?", method, figures, dict(data)
    ).to_json()


def describe_machine() -> str:
    """Say what these figures are taken on, and how busy it is with other things."""
    system = (
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )
    return f"{os.cpu_count()} cores, {system}, load average {os.getloadavg()[0]:.1f} before the start"


if __name__ == "__main__":
    raise SystemExit(main())
