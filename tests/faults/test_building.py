"""Short versions of kills in the middle of implementations."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults import (
    kill_while_building,
    kill_while_looping,
    kill_while_revising,
)


def test_killed_implementations_end_with_the_same_branches_and_lose_nothing(
    tmp_path: Path,
) -> None:
    figures = kill_while_building.measure(seed=1, count=2, folder=tmp_path)
    assert not figures.misses, figures.to_json()


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_killed_loops_ask_no_answered_turn_again(tmp_path: Path) -> None:
    figures = kill_while_looping.measure(seed=1, count=3, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_killed_revisions_end_with_the_same_design_and_branch(tmp_path: Path) -> None:
    figures = kill_while_revising.measure(seed=1, count=2, folder=tmp_path)
    assert not figures.misses, figures.to_json()
