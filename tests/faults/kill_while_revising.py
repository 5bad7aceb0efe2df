"""Kill a run again and again whose test plan is sent back: the revised design, its ledger
and the branch are the same bytes, and no question that was answered is asked again.
"""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.designs import branches
from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.roles_model import Roles, serve_roles
from tests.faults.scene import wait_deserted
from tests.plans import (
    APPROVED,
    ISSUE_CODE,
    MODELS,
    REVISE,
    SINGLE,
    Shop,
    verdict,
)
from tests.support import PATIENCE, SIGKILL, Running, build_world

COMMAND = ("implement-workflow", "--all", *MODELS, *SINGLE)
CALLS = 9
KILLS_A_WORLD = 6
OTHERS = ("docs/reports/", "docs/lineage/active/1-implementation/")
LONGEST_WAIT = 1.2
"""Seconds after a question at most, so that steps without one are hit too."""


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many runs, in as many repositories as that takes."""
    begun = {"kills": 0, "worlds": 0, "asked_again": 0}
    figures = Figures("kill_while_revising", seed, count, begun)
    rng = random.Random(seed)
    while figures.values["kills"] < count:
        figures.add("worlds")
        place = folder / f"world-{figures.values['worlds']}"
        _torment(figures, place, rng, count - figures.values["kills"])
    return figures


def _make(folder: Path) -> Shop:
    shop = Shop(build_world(folder, issues=0))
    shop.design_it()
    return shop


def _script(shop: Shop) -> dict[str, list[str]]:
    """Return a plan that is sent back twice: once by each reviewer."""
    return {
        "plan": [verdict(REVISE, "a"), verdict(APPROVED)],
        "draft": [shop.draft(2), shop.draft(3)],
        "review": [verdict(REVISE, "b"), verdict(APPROVED, resolved=["F1", "F2"])],
        **ISSUE_CODE,
    }


@cache
def undisturbed() -> tuple[dict[str, str], dict[str, str]]:
    """Return documents and branches of a run that nothing happened to."""
    with TemporaryDirectory(prefix="agentos-revising-") as folder:
        shop = _make(Path(folder))
        with serve_roles(_script(shop)) as roles:
            finished = _finish(shop, roles)
        assert "1 implemented" in finished, finished
        assert len(roles.asked) == CALLS, roles.counts
        return _documents(shop), branches(shop.world.repo)


def _documents(shop: Shop) -> dict[str, str]:
    """Return the hash of every document, without reports, which name commits."""
    found = shop.world.artefacts()
    return {name: found[name] for name in found if not name.startswith(OTHERS)}


def _finish(shop: Shop, roles: Roles) -> str:
    entries = [{"provider": "openai", "key": "scripted-1"}]
    market.write_keys(shop.world, roles.url, entries)
    return shop.world.run(*COMMAND).text


def _torment(figures: Figures, folder: Path, rng: random.Random, kills: int) -> None:
    known = undisturbed()
    where = f"world {figures.values['worlds']}"
    shop = _make(folder)
    killed = 0
    with serve_roles(_script(shop), latency=0.05) as roles:
        entries = [{"provider": "openai", "key": "scripted-1"}]
        market.write_keys(shop.world, roles.url, entries)
        while killed < min(kills, KILLS_A_WORLD):
            if not _kill(shop, roles, rng):
                break
            killed += 1
            figures.add("kills")
            figures.expect_none(wait_deserted(shop.world, 2.0), where)
        finished = _finish(shop, roles)
    figures.expect("Traceback" not in finished, f"{where}: {finished}")
    figures.expect(
        branches(shop.world.repo) == known[1], f"{where}: other branches: {finished}"
    )
    found = _documents(shop)
    names = sorted(dict(found.items() ^ known[0].items()))
    figures.expect(not names, f"{where}: other bytes: {names}: {finished[-1500:]}")
    figures.expect(shop.world.leftovers() == [], f"{where}: {shop.world.leftovers()}")
    again = len(roles.asked) - len({text for _, text in roles.asked})
    # At a kill, one question is under way.
    figures.expect(again <= killed, f"{where}: {again} asked again, {killed} kills")
    figures.add("asked_again", again)


def _kill(shop: Shop, roles: Roles, rng: random.Random) -> bool:
    """Kill the run some time after a question; return False if it ended before."""
    moment = len(roles.asked) + rng.randint(0, 3)
    with shop.world.start(*COMMAND) as running:
        if not _wait_asked(roles, running, moment):
            return False
        if running.ends_within(rng.uniform(0.0, LONGEST_WAIT)):
            return False
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
    raise SystemExit(main(measure, 40))
