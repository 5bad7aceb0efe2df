"""Kill the command with -9 before each system call by which a filing is written down,
then run it again.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentos.state.home import repository_key
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world
from tests.forge import Hub, serve
from tests.forge.hub import TOKEN
from tests.support import BRIEF, World

AT_ONCE = 4
FILE = ("issue-workflow", "--all", "--file", "github:acme/shop")
TIMES = {
    "mkdir": 2,
    "unlink": 3,
    "openat": 8,
    "write": 3,
    "fsync": 5,
    "close": 8,
    "rename": 3,
}
STEPS = [
    (call, number) for call, times in TIMES.items() for number in range(1, times + 1)
]
"""The calls that touch the files of a filing, and how often each comes; the last ones
may be beyond the end.
"""


def can_trace() -> bool:
    """Tell whether system calls can be traced here."""
    strace = shutil.which("strace")
    return (
        strace is not None
        and subprocess.run([strace, "-o", "/dev/null", "true"], check=False).returncode
        == 0
    )


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill at so many of the steps, at all of them when there are no more."""
    steps = STEPS if count >= len(STEPS) else random.Random(seed).sample(STEPS, count)
    figures = Figures(
        "kill_while_filing", seed, len(steps), {"killed": 0, "ended_before": 0}
    )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for step, result in [
            (step, pool.submit(_strike, folder / f"{number}", *step))
            for number, step in enumerate(steps)
        ]:
            was_killed, problem = result.result()
            figures.add("killed" if was_killed else "ended_before")
            figures.expect(not problem, f"{step}: {problem}")
    return figures


def _strike(folder: Path, call: str, number: int) -> tuple[bool, str]:
    with serve() as hub:
        hub.repo("acme/shop").add("An issue of somebody else")
        world = _make_world(folder, hub)
        inject = (f"--inject={call}:signal=KILL:when={number}", "-e", f"trace={call}")
        traced = [part for path in _touched(world) for part in ("-P", str(path))]
        struck = world.run(
            "strace", "-f", "-qq", "-o", str(folder / "trace"), *inject, *traced, *FILE
        )
        ended = world.run(*FILE)
        filed = [issue["number"] for issue in hub.filed("acme/shop")]
        problem = ""
        if ended.code != 0 or filed != [2]:
            problem = f"filed as {filed}, exit {ended.code}: {ended.text}"
        elif "**Filed:** acme/shop#2\n" not in (
            world.repo / "docs/issues/1.md"
        ).read_text("utf-8"):
            problem = "its document does not say so"
        elif left := [*world.leftovers(), *(world.home / "filings").rglob("*.tmp")]:
            problem = f"left behind: {left}"
        elif not (again := world.run(*FILE)).stdout.startswith("Nothing to do"):
            problem = f"not done: {again.text}"
        return struck.code != 0, problem


def _make_world(folder: Path, hub: Hub) -> World:
    world = make_world(folder, 0)
    (world.repo / "docs/briefs").mkdir()
    (world.repo / "docs/briefs/1-remind.md").write_text(BRIEF.format(number=1), "utf-8")
    return World(
        world.repo,
        world.home,
        {**world.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN},
    )


def _touched(world: World) -> list[Path]:
    key = repository_key(world.repo)
    filings, issues = world.home / "filings" / key, world.repo / "docs/issues"
    return [
        *(
            filings.parent,
            filings,
            filings / "issue_1.json",
            filings / ".issue_1.json.tmp",
        ),
        *(issues / "1.md", issues / f".1.md.{key}.filed.tmp"),
    ]


if __name__ == "__main__":
    raise SystemExit(main(measure, len(STEPS)))
