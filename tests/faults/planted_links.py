"""Plant links and pipes where files are expected: none is followed, and the other items
go on.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from agentos.item import Item
from agentos.kinds import Kind
from agentos.run.recovery import publication_of
from agentos.state.home import Home, ItemPaths, repository_key
from tests.faults.evidence import visible_problems
from tests.faults.figures import Figures, main
from tests.faults.scene import command, make_world, undisturbed
from tests.support import Finished, World

SECRET = "the contents of a file outside\n"
OTHER_USER = 12345
ROUNDS = 1

HANGS_AFTER = 10.0

Plant = Callable[[World, ItemPaths, Path], None]
Planted = tuple[Plant, tuple[str, ...]]


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Plant everything, so many times."""
    figures = Figures("planted_links", seed, count, {"plants": 0, "refused_homes": 0})
    for number in range(1, count + 1):
        _plant_for_items(figures, folder / f"items-{number}", ITEMS, "items")
        _plant_for_items(figures, folder / f"pipes-{number}", PIPES, "pipes")
        for name, plant in FOLDERS.items():
            _plant_folder(figures, folder / f"folder-{number}-{name}", name, plant)
        _open_homes(figures, folder / f"homes-{number}")
    return figures


def _link_document(world: World, paths: ItemPaths, outside: Path) -> None:
    _link(world.repo / "docs/lld/active/LLD-001.md", outside / "document")


def _pipe_as_issue(world: World, paths: ItemPaths, outside: Path) -> None:
    (world.repo / "docs/issues/2-export.md").unlink()
    os.mkfifo(world.repo / "docs/issues/2-export.md")


def _link_as_issue(world: World, paths: ItemPaths, outside: Path) -> None:
    (world.repo / "docs/issues/3-export.md").unlink()
    _link(world.repo / "docs/issues/3-export.md", outside / "issue")


def _link_checkpoint(world: World, paths: ItemPaths, outside: Path) -> None:
    _link(paths.checkpoint, outside / "checkpoint")


def _link_checkpoint_to_nothing(world: World, paths: ItemPaths, outside: Path) -> None:
    _link(paths.checkpoint, outside / "not-there.db")


def _link_lock(world: World, paths: ItemPaths, outside: Path) -> None:
    _link(paths.lock, outside / "lock")


def _link_record(world: World, paths: ItemPaths, outside: Path) -> None:
    _link(paths.record, outside / "record")


def _link_hidden_names(world: World, paths: ItemPaths, outside: Path) -> None:
    publication = publication_of(Item(Kind.LLD, "8", ""), paths, world.repo)
    _link(Path(publication._hidden(publication.folders[0])), outside / "folder")
    _link(Path(publication._hidden(publication.document)), outside / "document")


def _link_lineage(world: World, paths: ItemPaths, outside: Path) -> None:
    _link(world.repo / "docs/lineage/active/9-lld", outside / "folder")


def _hard_link_document(world: World, paths: ItemPaths, outside: Path) -> None:
    (world.repo / "docs/lld/active/LLD-010.md").hardlink_to(outside / "hard-document")


def _hard_link_checkpoint(world: World, paths: ItemPaths, outside: Path) -> None:
    paths.checkpoint.hardlink_to(outside / "hard-checkpoint")


def _pipe_as_checkpoint(world: World, paths: ItemPaths, outside: Path) -> None:
    os.mkfifo(paths.checkpoint)


def _pipe_as_record(world: World, paths: ItemPaths, outside: Path) -> None:
    os.mkfifo(paths.record)


def _pipe_as_lock(world: World, paths: ItemPaths, outside: Path) -> None:
    os.mkfifo(paths.lock)


ITEMS: dict[int, Planted] = {
    1: (_link_document, ("approved", "failed")),
    2: (_pipe_as_issue, ("failed",)),
    3: (_link_as_issue, ("failed",)),
    4: (_link_checkpoint, ("approved", "failed")),
    5: (_link_checkpoint_to_nothing, ("approved", "failed")),
    6: (_link_lock, ("approved", "failed")),
    7: (_link_record, ("approved", "failed")),
    8: (_link_hidden_names, ("approved",)),
    9: (_link_lineage, ("approved", "failed")),
    10: (_hard_link_document, ("approved",)),
    11: (_hard_link_checkpoint, ("approved", "failed")),
}
"""What is planted for each item, and the ends that are then allowed."""
PIPES: dict[int, Planted] = {
    1: (_pipe_as_checkpoint, ("approved", "failed")),
    2: (_pipe_as_record, ("approved", "failed")),
    3: (_pipe_as_lock, ("approved", "failed")),
}
CLEAN = 2

FOLDERS: dict[str, Callable[[World], Path]] = {
    "docs-lld-active": lambda world: world.repo / "docs/lld/active",
    "docs-lineage": lambda world: world.repo / "docs/lineage",
    "checkpoints": lambda world: world.home / "checkpoints",
    "locks": lambda world: world.home / "locks",
    "items": lambda world: world.home / "items",
    "logs": lambda world: world.home / "logs",
    "logs-parallel": lambda world: world.home / "logs/parallel",
}
"""Folders of which each is once a link that leads outside."""


def _plant_for_items(
    figures: Figures, folder: Path, plants: Mapping[int, Planted], where: str
) -> None:
    issues = len(plants) + CLEAN
    world, outside = _prepare(folder, issues)
    home, key = Home(world.home), repository_key(world.repo)
    home.prepare(key)
    (world.repo / "docs/lld/active").mkdir(parents=True)
    (world.repo / "docs/lineage/active").mkdir(parents=True)
    for number, (plant, _) in plants.items():
        plant(world, home.item(key, Item(Kind.LLD, str(number), "")), outside)
        figures.add("plants")
    before = _snapshot(outside)
    finished = _run(figures, world, where)
    if finished is None:
        return
    _check_outside(figures, world, outside, before, where)
    summary = json.loads((world.run_folders[-1] / "summary.json").read_bytes())
    ends = {int(entry["id"]): entry["status"] for entry in summary["items"]}
    for number, (plant, allowed) in plants.items():
        figures.expect(
            ends.get(number) in allowed,
            f"{plant.__name__}: ended as {ends.get(number)}",
        )
        figures.values[plant.__name__.strip("_")] = ends.get(number)
    clean = range(len(plants) + 1, issues + 1)
    figures.expect(
        all(ends.get(number) == "approved" for number in clean),
        f"clean items ended as {ends}",
    )
    known = undisturbed(issues, ROUNDS)
    figures.expect_none(
        [p for p in visible_problems(world, known) if "superseded" not in p], where
    )


def _plant_folder(
    figures: Figures, folder: Path, name: str, plant: Callable[[World], Path]
) -> None:
    world, outside = _prepare(folder, 1)
    place = plant(world)
    world.home.mkdir(mode=0o700)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _link(place, outside / "folder")
    figures.add("plants")
    before = _snapshot(outside)
    finished = _run(figures, world, name)
    if finished is None:
        return
    figures.expect(
        finished.code in (1, 2),
        f"{name}: ended with {finished.code}: {finished.text[-600:]}",
    )
    figures.expect(
        "internal error" not in finished.text, f"{name}: {finished.text[-600:]}"
    )
    _check_outside(figures, world, outside, before, name)


def _open_homes(figures: Figures, folder: Path) -> None:
    world, _ = _prepare(folder, 1)
    world.home.mkdir(mode=0o700)
    for mode, owner in (
        (0o770, -1),
        (0o777, -1),
        (0o700, OTHER_USER if os.geteuid() == 0 else -1),
    ):
        if (mode, owner) == (0o700, -1):
            continue
        world.home.chmod(mode)
        os.chown(world.home, owner, -1)
        finished = world.run(*command(rounds=ROUNDS))
        where = f"home of mode {mode:o} and owner {owner}"
        figures.expect(finished.code == 2, f"{where}: ended with {finished.code}")
        figures.expect(finished.text.count("\n") == 1, f"{where}: said {finished.text}")
        figures.expect(
            not list(world.home.iterdir()), f"{where}: something was written"
        )
        figures.add("refused_homes")


def _prepare(folder: Path, issues: int) -> tuple[World, Path]:
    world = make_world(folder, issues)
    outside = folder / "outside"
    (outside / "folder").mkdir(parents=True)
    names = (
        "document",
        "issue",
        "checkpoint",
        "lock",
        "record",
        "hard-document",
        "hard-checkpoint",
        "folder/kept",
    )
    for name in names:
        (outside / name).write_text(SECRET, "utf-8")
    return world, outside


def _run(figures: Figures, world: World, where: str) -> Finished | None:
    with world.start(*command(latency=0, rounds=ROUNDS)) as running:
        try:
            running.process.wait(HANGS_AFTER)
        except subprocess.TimeoutExpired:
            figures.misses.append(f"{where}: hangs; said {running.text[-500:]!r}")
            return None
        finished = running.finish()
    figures.expect("Traceback" not in finished.text, f"{where}: {finished.text}")
    return finished


def _check_outside(
    figures: Figures, world: World, outside: Path, before: dict[str, bytes], where: str
) -> None:
    after = _snapshot(outside)
    changed = sorted({*before.items()} ^ {*after.items()})
    figures.expect(
        not changed,
        f"{where}: outside changed: {sorted({name for name, _ in changed})}",
    )
    leaked = [
        str(path.relative_to(world.repo))
        for path in world.repo.rglob("*")
        if not path.is_symlink() and path.is_file() and _leaks(path)
    ]
    figures.expect(
        not leaked,
        f"{where}: what a link led to was copied into the repository: {leaked}",
    )


def _leaks(path: Path) -> bool:
    # What was hard-linked lay in the repository under its own name, and may be kept
    # there.
    return SECRET.encode() in path.read_bytes() and path.name != "LLD-010.md"


def _snapshot(outside: Path) -> dict[str, bytes]:
    return {
        path.relative_to(outside).as_posix(): path.read_bytes()
        if path.is_file()
        else b"folder"
        for path in outside.rglob("*")
    }


def _link(place: Path, target: Path) -> None:
    place.symlink_to(target)


if __name__ == "__main__":
    raise SystemExit(main(measure, 1))
