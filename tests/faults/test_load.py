"""Short versions of load, speed, and of faults of state that need processes of their
own.
"""

from __future__ import annotations

from pathlib import Path

from tests.faults import damage_checkpoints, scale, speed_up, stalled_stdout
from tests.faults.figures import find_misses


def test_checkpoints_take_many_writers_and_readers_at_once() -> None:
    assert not find_misses("commit_storm", "--count", "400")


def test_a_death_between_two_writes_of_the_library_never_ends_an_item_early() -> None:
    assert not find_misses("resume_trap")


def test_a_database_that_was_being_made_at_a_kill_does_not_count_as_damaged() -> None:
    assert not find_misses("kill_while_opening", "--count", "100")


def test_a_damaged_checkpoint_is_recovered_or_set_aside(tmp_path: Path) -> None:
    figures = damage_checkpoints.measure(seed=1, count=8, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_work_goes_on_while_nobody_reads_stdout(tmp_path: Path) -> None:
    figures = stalled_stdout.measure(seed=1, count=5, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_a_large_batch_leaves_no_open_files_threads_or_zombies_behind(
    tmp_path: Path,
) -> None:
    figures = scale.measure(seed=1, count=200, folder=tmp_path, is_whole=False)
    assert not figures.misses, figures.to_json()


def test_three_at_a_time_make_the_same_files_as_one(tmp_path: Path) -> None:
    figures = speed_up.measure(
        seed=1, count=1, folder=tmp_path, sizes=(6,), degrees=(3,), latency=0.1
    )
    assert not figures.misses, figures.to_json()
