"""A short version of kills in the middle of implementations."""

from __future__ import annotations

from pathlib import Path

from tests.faults import kill_while_building


def test_killed_implementations_end_with_the_same_branches_and_lose_nothing(
    tmp_path: Path,
) -> None:
    figures = kill_while_building.measure(seed=1, count=2, folder=tmp_path)
    assert not figures.misses, figures.to_json()
