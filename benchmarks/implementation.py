"""How much faster are designs built three at a time?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import find_program, time_command
from tests.designs import Item, fill
from tests.support import build_world

ITEMS, DEGREE, ANSWER_SECONDS, ROUNDS = 6, 3, 1.0, 3
TARGET = 0.40
METHOD = (
    f"{ITEMS} designs that share no file. Each has three answers (the review of its test plan, the tests, "
    f"the code) of {ANSWER_SECONDS:g} s each; every proof really runs, in the sandbox. Time of the whole command, "
    f"one at a time and {DEGREE} at a time, in one home where a first design was built before. So the environment "
    f"for the tests exists, as it does for every batch except the first. Median of {ROUNDS} rounds."
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
    note = "; ".join(
        f"{together:.1f} s against {alone:.1f} s" for alone, together in rounds
    )
    figure = Figure(
        f"{ITEMS} designs built {DEGREE} at a time over one at a time",
        share,
        "x",
        TARGET,
        note=note,
    )
    return Result(
        __doc__ or "",
        METHOD,
        [figure],
        {"the first design, with its environment": f"{first:.1f} s"},
    )


def time_run(folder: Path, home: Path, parallel: int, items: int = ITEMS) -> float:
    """Return the seconds of a run with a degree of parallelism, in a repository of its
    own.
    """
    folder.mkdir()
    world = fill(
        build_world(folder, issues=0), *(Item(number) for number in range(1, items + 1))
    )
    slow = f"latency={ANSWER_SECONDS:g}"
    model = f"offline:{slow},answers={world.repo}/.agentos/recorded"
    command = [
        find_program("implement-workflow"),
        *("--all", "--parallel", str(parallel)),
        *("--drafter", model, "--reviewer", model),
    ]
    return time_command(
        command, {**world.environ, "AGENTOS_HOME": str(home)}, world.repo
    )


if __name__ == "__main__":
    raise SystemExit(main())
