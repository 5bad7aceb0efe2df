"""How much faster are designs built three at a time?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import find_program, time_command
from tests.support import build_world
from tests.workshop import Item, fill

ITEMS, DEGREE, ANSWER_SECONDS, ROUNDS = 6, 3, 1.0, 3
TARGET = 0.40
METHOD = (
    f"{ITEMS} designs that share no file, each with one answer for the review of its test plan, one with tests and one "
    f"with code, {ANSWER_SECONDS:g} s each; every proof is really run, in the sandbox. The whole command, one at a "
    f"time and {DEGREE} at a time, in one home, where a first design was built before: the environment of the tests is "
    f"there, as it is for every batch but the first. The median of {ROUNDS} rounds."
)


def main() -> int:
    """Print the times as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Time both runs in turn, the slower one first."""
    with tempfile.TemporaryDirectory(prefix="agentos-bench-") as folder:
        home = Path(folder) / "home"
        first = time_run(Path(folder) / "first", home, 1, items=1)
        rounds = [
            (
                time_run(Path(folder) / f"alone-{turn}", home, 1),
                time_run(Path(folder) / f"together-{turn}", home, DEGREE),
            )
            for turn in range(ROUNDS)
        ]
    share = median(together / alone for alone, together in rounds)
    note = "; ".join(f"{together:.1f} s against {alone:.1f} s" for alone, together in rounds)
    figure = Figure(f"{ITEMS} designs built {DEGREE} at a time over one at a time", share, "x", TARGET, note=note)
    return Result(__doc__ or "", METHOD, [figure], {"the first design, with its environment": f"{first:.1f} s"})


def time_run(folder: Path, home: Path, parallel: int, items: int = ITEMS) -> float:
    """Return the seconds of a run with a degree of parallelism, in a repository of its own."""
    folder.mkdir()
    world = fill(build_world(folder, issues=0), *(Item(number) for number in range(1, items + 1)))
    slow = f"latency={ANSWER_SECONDS:g}"
    command = [
        find_program("implement-workflow"),
        *("--all", "--parallel", str(parallel)),
        *("--drafter", f"offline:{slow},answers={world.repo}/.agentos/recorded", "--reviewer", f"offline:{slow}"),
    ]
    return time_command(command, {**world.environ, "AGENTOS_HOME": str(home)}, world.repo)


if __name__ == "__main__":
    raise SystemExit(main())
