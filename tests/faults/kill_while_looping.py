"""Kill the coordinator or a worker while tests and code are written turn by turn: no
answered turn is asked again, no observation is lost, and the branch is the same bytes.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from psutil import NoSuchProcess

from tests.designs import (
    CODE,
    CODE_APPROVAL,
    PLAN_APPROVAL,
    TESTS,
    Item,
    branches,
    fill,
)
from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.roles_model import Roles, serve_roles
from tests.faults.scene import wait_deserted
from tests.support import PATIENCE, SIGKILL, Running, World, build_world

CAP = "0.50"
COMMAND = (
    *("implement-workflow", "--all", "--writer", "loop"),
    *("--drafter", "openai:scripted", "--price", "openai:*=3/15"),
    *("--max-cost-per-item", CAP, "--output-limit", "2000"),
)
TURNS = 40
KILLS_A_WORLD = 20
LONGEST_WAIT = 0.8
"""Seconds after a question at most, so that commands and snapshots are hit too."""


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many times, in as many repositories as that takes."""
    begun = {"kills": 0, "of_workers": 0, "worlds": 0, "asked_again": 0}
    figures = Figures("kill_while_looping", seed, count, begun)
    rng = random.Random(seed)
    while figures.values["kills"] < count:
        figures.add("worlds")
        place = folder / f"world-{figures.values['worlds']}"
        _torment(figures, place, rng, count - figures.values["kills"])
    return figures


def _bash(command: str) -> str:
    return f"I go on.\n\n```bash\n{command}\n```\n"


def _script() -> dict[str, list[str]]:
    """Return turns that would show in the branch if one was carried out twice."""
    tests = [_bash("ls"), f"{TESTS.format(number=1)}\n{_bash('run-tests')}", "done\n"]
    code = [CODE.format(number=1)]
    for turn in range(2, TURNS):
        add = f"echo '# turn {turn}' >> calc/op1.py; echo {turn} >> left.log"
        look = "; run-tests" if turn % 10 == 0 else ""
        code.append(_bash(f"{add}; wc -l calc/op1.py left.log{look}; rm left.log"))
    code.append("done\n")
    return {
        "plan": [PLAN_APPROVAL],
        "tests": tests,
        "code": code,
        "diff": [CODE_APPROVAL],
    }


def _make(folder: Path) -> World:
    return fill(build_world(folder, issues=0), Item(1))


@cache
def undisturbed() -> tuple[dict[str, str], int]:
    """Return the branches of a run that nothing happened to, and how much it asked."""
    with TemporaryDirectory(prefix="agentos-looping-") as folder:
        world = _make(Path(folder))
        with serve_roles(_script()) as roles:
            finished = _finish(world, roles)
        assert "1 implemented" in finished, finished
        return branches(world.repo), len(roles.asked)


def _finish(world: World, roles: Roles) -> str:
    market.write_keys(world, roles.url, [{"provider": "openai", "key": "scripted-1"}])
    return world.run(*COMMAND).text


def _torment(figures: Figures, folder: Path, rng: random.Random, kills: int) -> None:
    known, asked = undisturbed()
    where = f"world {figures.values['worlds']}"
    world = _make(folder)
    killed = 0
    with serve_roles(_script(), latency=0.02) as roles:
        market.write_keys(
            world, roles.url, [{"provider": "openai", "key": "scripted-1"}]
        )
        while killed < min(kills, KILLS_A_WORLD):
            of_worker = rng.random() < 0.4
            if not _kill(world, roles, rng, of_worker=of_worker):
                break
            killed += 1
            figures.add("kills")
            figures.add("of_workers", int(of_worker))
            figures.expect_none(wait_deserted(world, 2.0), where)
        finished = _finish(world, roles)
    figures.expect("Traceback" not in finished, f"{where}: {finished}")
    found = branches(world.repo)
    figures.expect(found == known, f"{where}: other branches: {finished[-1500:]}")
    distinct = len({text for _, text in roles.asked})
    figures.expect(distinct == asked, f"{where}: {distinct} turns instead of {asked}")
    again = len(roles.asked) - distinct
    # At a kill, one question is under way.
    figures.expect(again <= killed, f"{where}: {again} asked again, {killed} kills")
    figures.add("asked_again", again)
    figures.expect(world.leftovers() == [], f"{where}: {world.leftovers()}")


def _kill(world: World, roles: Roles, rng: random.Random, *, of_worker: bool) -> bool:
    """Kill some time after a question; return False if the run ended before."""
    moment = len(roles.asked) + rng.randint(1, 4)
    with world.start(*COMMAND) as running:
        if not _wait_asked(roles, running, moment):
            return False
        if running.ends_within(rng.uniform(0.0, LONGEST_WAIT)):
            return False
        if of_worker:
            for worker in running.workers():
                with suppress(NoSuchProcess):
                    worker.kill()
        running.signal(SIGKILL)
        running.finish()
    return True


def _wait_asked(roles: Roles, running: Running, number: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while len(roles.asked) < number:
        assert time.monotonic() < deadline, running.text
        if running.process.poll() is not None:
            return False
        time.sleep(0.01)
    return True


if __name__ == "__main__":
    raise SystemExit(main(measure, 200))
