"""Short versions of the kills and of the ways to end a run."""

from __future__ import annotations

from pathlib import Path

from agentos.item import Item
from agentos.kinds import Kind
from agentos.state.home import Home, repository_key
from tests.faults import (
    interrupt,
    kill_coordinator,
    kill_worker,
    nemesis,
    signals,
    two_coordinators,
)
from tests.faults.scene import command, make_world


def test_a_killed_coordinator_costs_nothing_but_the_steps_in_flight(
    tmp_path: Path,
) -> None:
    figures = kill_coordinator.measure(seed=1, count=4, folder=tmp_path, items=6)
    assert not figures.misses, figures.to_json()


def test_what_a_kill_left_of_a_finished_item_is_gone_after_the_next_run(
    tmp_path: Path,
) -> None:
    world = make_world(tmp_path, 1)
    assert world.run(*command(latency=0, rounds=1)).code == 0
    paths = Home(world.home).item(repository_key(world.repo), Item(Kind.LLD, "1", ""))
    paths.checkpoint.touch()
    paths.lock.touch()
    assert world.run(*command(latency=0, rounds=1)).code == 0
    assert world.leftovers() == []


def test_a_killed_worker_affects_its_own_item_only(tmp_path: Path) -> None:
    figures = kill_worker.measure(seed=1, count=2, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_an_interrupted_run_ends_in_time_and_can_be_resumed(tmp_path: Path) -> None:
    figures = interrupt.measure(seed=1, count=2, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_every_signal_ends_a_run_in_its_own_way(tmp_path: Path) -> None:
    figures = signals.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_two_coordinators_share_items_and_the_next_takes_over_from_a_dead_one(
    tmp_path: Path,
) -> None:
    figures = two_coordinators.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_whatever_strikes_a_batch_every_item_comes_to_an_end(tmp_path: Path) -> None:
    figures = nemesis.measure(seed=1, count=12, folder=tmp_path, items=6)
    assert not figures.misses, figures.to_json()
