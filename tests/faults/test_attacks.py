"""Short versions of the attacks."""

from __future__ import annotations

from pathlib import Path

from tests.faults import (
    bombs,
    hostile_ids,
    injected_issues,
    planted_links,
    tampered_checkpoint,
    terminal_injection,
)

BOMBS = (
    "file_of_50_megabytes",
    "one_line",
    "nested_lists",
    "brackets",
    "growing_fences",
    "headings",
)


def test_no_planted_link_or_pipe_is_followed(tmp_path: Path) -> None:
    figures = planted_links.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_no_terminal_sequence_comes_through(tmp_path: Path) -> None:
    figures = terminal_injection.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_a_bomb_hurts_nobody_else(tmp_path: Path) -> None:
    figures = bombs.measure(seed=1, count=1, folder=tmp_path, names=BOMBS)
    assert not figures.misses, figures.to_json()


def test_hostile_ids_are_refused_in_one_line(tmp_path: Path) -> None:
    figures = hostile_ids.measure(seed=1, count=30, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_nothing_in_a_tampered_checkpoint_is_called(tmp_path: Path) -> None:
    figures = tampered_checkpoint.measure(seed=1, count=2, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_no_order_that_is_hidden_in_an_issue_turns_a_verdict(tmp_path: Path) -> None:
    figures = injected_issues.measure(seed=1, count=100, folder=tmp_path)
    assert not figures.misses, figures.to_json()
    assert figures.values["reviews"] > figures.values["issues"]
