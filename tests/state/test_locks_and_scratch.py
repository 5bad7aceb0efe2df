"""Locks end with their holders; scratch folders are swept when their run is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentos.state import locks, scratch
from agentos.state.locks import Holder, ItemLock

HOLD = """
import sys
from pathlib import Path
from agentos.state import {module}
{make}
print("held", flush=True)
sys.stdin.read()
"""


def hold_elsewhere(code: str) -> subprocess.Popen[str]:
    """Run code in another process and wait until it holds what it was asked to."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_excludes_others_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lld_1.lock"
    make = f"lock = locks.acquire(Path({str(path)!r}), 'a command')"
    with hold_elsewhere(HOLD.format(module="locks", make=make)) as other:
        holder = locks.acquire(path, "another")
        assert isinstance(holder, Holder)
        assert (holder.pid, holder.command) == (other.pid, "a command")
        assert locks.try_acquire(path) is None
        other.kill()
        other.wait()
        lock = locks.acquire(path, "another")
    assert isinstance(lock, ItemLock)
    lock.release()
    assert not path.exists()


def test_a_lock_outlives_its_taker_in_whoever_has_the_descriptor(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lld_1.lock"
    lock = locks.acquire(path, "coordinator")
    assert isinstance(lock, ItemLock)
    worker = subprocess.Popen(["sleep", "60"], pass_fds=[lock.descriptor])
    os.close(lock.descriptor)
    assert locks.try_acquire(path) is None
    worker.kill()
    worker.wait()
    again = locks.try_acquire(path)
    assert again is not None
    again.release()


def test_a_holder_whose_number_was_given_to_another_process_is_not_alive(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    path.write_text(
        json.dumps({"pid": os.getpid(), "since": "", "command": "", "birth": "1"})
    )
    holder = locks.read_holder(path)
    assert holder is not None
    assert not holder.is_alive


@pytest.mark.parametrize("text", ["", "{}", "[1]", "nonsense", '{"pid": 1}'])
def test_a_lock_file_that_makes_no_sense_names_nobody(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "lock").write_text(text)
    assert locks.read_holder(tmp_path / "lock") is None


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"):
        locks.acquire(tmp_path / "lock", "x")
    assert not (tmp_path / "victim").exists()


def test_the_scratch_of_a_living_run_stays_and_that_of_a_dead_one_goes(
    tmp_path: Path,
) -> None:
    mine = scratch.Scratch(tmp_path)
    make = f"own = scratch.Scratch(Path({str(tmp_path)!r})); Path(own.fresh()).write_text('x')"
    with hold_elsewhere(HOLD.format(module="scratch", make=make)) as other:
        scratch.sweep(tmp_path)
        assert len(list(tmp_path.iterdir())) == 2
        other.kill()
        other.wait()
    scratch.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [mine.path]
    mine.close()
    assert list(tmp_path.iterdir()) == []
