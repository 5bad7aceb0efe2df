"""Kill a batch of implementations again and again: the branches come out the same, no
byte in a worktree is lost.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from tests.designs import CODE, Item, branches, fill, git
from tests.faults.figures import Figures, main
from tests.support import PATIENCE, SIGKILL, World, build_world, wait_gone

ITEMS = 6
COMMAND = ("implement-workflow", "--all", "--parallel", "3")
SHORTEST, LONGEST = 0.8, 9.0
"""Seconds after which a run is killed."""
CACHES = ("__pycache__", ".pytest_cache", ".git")


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many runs, in as many repositories as that takes."""
    figures = Figures(
        "kill_while_building", seed, count, {"kills": 0, "batches": 0, "files_seen": 0}
    )
    rng = random.Random(seed)
    known = _undisturbed(figures, folder / "undisturbed")
    while figures.values["kills"] < count:
        figures.add("batches")
        world = _make(folder / f"world-{figures.values['batches']}")
        while figures.values["kills"] < count and _kill_once(figures, world, rng):
            pass
        _finish(figures, world, known, f"batch {figures.values['batches']}")
    return figures


def _make(folder: Path) -> World:
    """Make six designs: two that share a file with the one before, one that needs a
    second attempt.
    """
    wrong = CODE.format(number=3).replace("number + 3", "number - 3")
    items = [Item(1), Item(2), Item(3, code=[wrong, CODE.format(number=3)]), Item(4)]
    items += [_sharing(5, "fifth"), _sharing(6, "sixth")]
    return fill(build_world(folder, issues=0), *items)


def _sharing(number: int, name: str) -> Item:
    old = "    return a + b"
    new = f'{old}\n\n\ndef {name}(number):\n    """Return more."""\n    return number + {number}\n'
    edit = f"```python\n# Edit: calc/basic.py\n<<<<<<< SEARCH\n{old}\n=======\n{new}>>>>>>> REPLACE\n```\n"
    tests = (
        f"```python\n# File: tests/test_{name}.py\nfrom calc.basic import {name}\n\n\n"
        f"def test_010_{name}():\n    assert {name}(1) == 1 + {number}\n```\n"
    )
    return Item(
        number,
        files={"calc/basic.py": "Modify", f"tests/test_{name}.py": "Add"},
        tests=[tests],
        code=[edit],
    )


def _undisturbed(figures: Figures, folder: Path) -> dict[str, str]:
    world = _make(folder)
    with world.start(*COMMAND) as running:
        finished = running.finish(patience=5 * PATIENCE)
    figures.expect(finished.code == 0, f"undisturbed: {finished.text[-1000:]}")
    return branches(world.repo)


def _kill_once(figures: Figures, world: World, rng: random.Random) -> bool:
    """Run and kill; tell whether there is more to be killed."""
    with world.start(*COMMAND) as running:
        if running.ends_within(rng.uniform(SHORTEST, LONGEST)):
            return False
        everyone = running.descendants()
        running.signal(SIGKILL)
        running.finish()
    figures.add("kills")
    figures.expect(
        wait_gone(everyone, 5.0) == [],
        f"kill {figures.values['kills']}: processes are left",
    )
    _remember(figures, world)
    return True


_seen: dict[str, dict[tuple[str, str], set[str]]] = {}
"""By repository, for each item and path the blobs that were in its worktree after a
kill.
"""


def _remember(figures: Figures, world: World) -> None:
    seen = _seen.setdefault(str(world.repo), {})
    for folder in world.home.glob("worktrees/*/*"):
        if not folder.name.isdigit():
            continue
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in CACHES]
            for name in names:
                path = Path(place) / name
                if name in CACHES or name.startswith(".agentos-") or path.is_symlink():
                    continue
                blob = git(
                    world.repo, "hash-object", "-w", "--no-filters", "--", str(path)
                ).strip()
                seen.setdefault(
                    (folder.name, path.relative_to(folder).as_posix()), set()
                ).add(blob)
                figures.add("files_seen")


def _finish(figures: Figures, world: World, known: dict[str, str], where: str) -> None:
    with world.start(*COMMAND) as running:
        finished = running.finish(patience=5 * PATIENCE)
    figures.expect(
        finished.code == 0,
        f"{where}: ended with {finished.code}: {finished.text[-1500:]}",
    )
    figures.expect(
        branches(world.repo) == known,
        f"{where}: other branches: {branches(world.repo)}",
    )
    kept = _kept(world)
    for (item, path), blobs in _seen.pop(str(world.repo), {}).items():
        lost = blobs - kept.get((item, path), set())
        figures.expect(
            not lost,
            f"{where}: item {item}: {path} as it was after a kill is in no snapshot",
        )
    git(world.repo, "fsck", "--no-dangling", "--no-progress")


def _kept(world: World) -> dict[tuple[str, str], set[str]]:
    """Return for each item and path the blobs that some ref of the item, or the base,
    has.
    """
    kept: dict[tuple[str, str], set[str]] = {}
    base = _blobs(world.repo, "HEAD")
    for number in range(1, ITEMS + 1):
        for path, blob in base:
            kept.setdefault((str(number), path), set()).add(blob)
    for store in world.home.glob("worktrees/*/.*.git"):
        item = store.name.split(".")[1]
        refs = git(store, "for-each-ref", "--format=%(refname)", "refs/agentos/")
        for ref in refs.split():
            for path, blob in _blobs(store, ref):
                kept.setdefault((item, path), set()).add(blob)
    return kept


def _blobs(repository: Path, revision: str) -> list[tuple[str, str]]:
    lines = git(repository, "ls-tree", "-r", revision).splitlines()
    return [(line.split("\t")[1], line.split()[2]) for line in lines]


if __name__ == "__main__":
    raise SystemExit(main(measure, 60))
