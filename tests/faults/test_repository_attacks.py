"""Short versions of the attacks and kills on repositories."""

from __future__ import annotations

from pathlib import Path

from tests.faults import hostile_repository, kill_while_saving


def test_nothing_that_a_repository_names_is_run(tmp_path: Path) -> None:
    figures = hostile_repository.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_a_kill_loses_nothing_that_was_saved(tmp_path: Path) -> None:
    figures = kill_while_saving.measure(seed=1, count=5, folder=tmp_path)
    assert not figures.misses, figures.to_json()
