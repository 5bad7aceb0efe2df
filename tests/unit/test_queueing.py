"""Places that items share: never more holders than there are, never lost with one, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentos.queueing import Place

HOLD = """
import asyncio, sys
from pathlib import Path
from agentos.queueing import Place
place = Place([Path(name) for name in sys.argv[1:]], 60.0)
asyncio.run(place.take())
print("held", flush=True)
sys.stdin.read()
"""


def hold(*locks: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, *map(str, locks)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_free_place_is_taken_at_once_and_once(tmp_path: Path) -> None:
    locks = [tmp_path / "a", tmp_path / "b"]
    place = Place(locks, 60.0)
    asyncio.run(place.take())
    asyncio.run(place.take())
    assert sum(lock.exists() for lock in locks) == 1
    place.leave()
    place.leave()
    assert not any(lock.exists() for lock in locks)


def test_who_comes_last_goes_on_without_after_a_while(tmp_path: Path) -> None:
    locks = [tmp_path / "a", tmp_path / "b"]
    holders = [hold(*locks), hold(*locks)]
    try:
        place = Place(locks, 0.05)
        asyncio.run(place.take())
        place.leave()
        assert all(lock.exists() for lock in locks)
    finally:
        for holder in holders:
            holder.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_place_that_is_lost_goes_to_the_next(tmp_path: Path, number: signal.Signals) -> None:
    lock = tmp_path / "a"
    holder = hold(lock)

    async def take() -> Place:
        place = Place([lock], 60.0)
        taking = asyncio.create_task(place.take())
        await asyncio.sleep(0.05)
        assert not taking.done()
        holder.send_signal(number)
        await taking
        return place

    try:
        asyncio.run(take()).leave()
    finally:
        holder.communicate()


def test_without_places_everybody_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for lock in (tmp_path / "a", tmp_path / "missing" / "b"):
        place = Place([lock], 60.0)
        asyncio.run(place.take())
        place.leave()
