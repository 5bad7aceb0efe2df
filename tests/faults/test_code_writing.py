"""Short versions of the attacks on what an implementer's answer writes."""

from __future__ import annotations

from pathlib import Path

from tests.faults import hostile_paths


def test_no_path_swapped_link_or_flood_gets_outside(tmp_path: Path) -> None:
    figures = hostile_paths.measure(seed=1, count=300, folder=tmp_path, seconds=0)
    assert not figures.misses, figures.to_json()
