"""Let ten processes share two keys while a fifth of the holders is killed: no key is
used twice, none is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agentos.gateway.keys import Key
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.providers import Completion
from agentos.state.processes import own_birth, process_birth
from agentos.usage import Usage
from agentos.workflows.parallel import CredentialCoordinator
from tests.faults.figures import Figures, main, percentile
from tests.faults.scene import fork

PROCESSES = 10
KEYS = tuple(
    Key("openai", f"credential-{number}", f"group-{number}", max_parallel=1)
    for number in (1, 2)
)
CRASHES = 0.2
HELD = 0.002
LONGEST_WAIT = 30.0
A_TURN = 25
"""Keys that a process takes before it ends by itself; one that is killed before is
replaced as well.
"""


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Take and give back so many keys; this process must not have other threads, as it
    forks.
    """
    figures = Figures(
        "credentials",
        seed,
        count,
        {"taken": 0, "killed_while_holding": 0, "double_use": 0},
    )
    started = time.monotonic()
    _share_in_processes(figures, seed, count, folder)
    figures.values["taken_a_second"] = round(count / (time.monotonic() - started))
    _find_lost(figures, folder)
    _share_in_threads(figures, count // 5)
    _open_together(figures, folder, max(5, count // 100))
    return figures


def _share_in_processes(figures: Figures, seed: int, count: int, folder: Path) -> None:
    """Keep ten processes at it until all is taken; each notes what it took in a file of
    its own.
    """
    (folder / "held").mkdir()
    (folder / "notes").mkdir()
    begun = 0
    places: dict[int, int] = {}
    taken = dict.fromkeys(range(PROCESSES), 0)
    while sum(taken.values()) < count or places:
        for place in set(range(PROCESSES)) - set(places.values()):
            if sum(taken.values()) < count:
                begun += 1
                places[fork(partial(_take_turns, folder, begun, seed))] = place
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        place = places.pop(pid)
        notes = [
            json.loads(line)
            for line in (folder / "notes" / str(pid)).read_text("utf-8").splitlines()
        ]
        (folder / "notes" / str(pid)).unlink()
        taken[place] += len(notes)
        figures.add("taken", len(notes))
        figures.add("killed_while_holding", code == -signal.SIGKILL)
        figures.add("double_use", sum(bool(note["others"]) for note in notes))
        figures.raise_to(
            "longest_wait_seconds", max((note["waited"] for note in notes), default=0.0)
        )
        figures.values.setdefault("waits", []).extend(note["waited"] for note in notes)
        figures.expect(code in (0, -signal.SIGKILL), f"a holder ended with {code}")
    waits = figures.values.pop("waits")
    figures.values |= {
        "wait_p50_seconds": percentile(waits, 0.5),
        "wait_p99_seconds": percentile(waits, 0.99),
    }
    figures.values |= {
        "least_served": min(taken.values()),
        "most_served": max(taken.values()),
    }
    figures.expect(
        figures.values["double_use"] == 0,
        f"{figures.values['double_use']} keys were held twice",
    )
    figures.expect_swift(
        figures.values["longest_wait_seconds"] <= LONGEST_WAIT,
        "somebody waited too long",
    )
    figures.expect(min(taken.values()) > 0, f"somebody was never served: {taken}")


def _take_turns(folder: Path, number: int, seed: int) -> None:
    asyncio.run(_take_and_give_back(folder, random.Random(f"{seed}/{number}")))


async def _take_and_give_back(folder: Path, rng: random.Random) -> None:
    pool = _open_pool(folder)
    with (folder / "notes" / str(os.getpid())).open(
        "w", encoding="utf-8", buffering=1
    ) as notes:
        for _ in range(A_TURN):
            started = time.monotonic()
            lease = await asyncio.wait_for(
                pool.lease("openai", "model", 1, "x"), LONGEST_WAIT
            )
            assert lease.key is not None
            mark = folder / "held" / f"{lease.key.secret} {os.getpid()} {own_birth()}"
            mark.touch(exist_ok=False)
            note = {
                "waited": round(time.monotonic() - started, 4),
                "others": _other_holders(mark),
            }
            notes.write(json.dumps(note) + "\n")
            await asyncio.sleep(rng.uniform(0, 2 * HELD))
            if rng.random() < CRASHES:
                os.kill(os.getpid(), signal.SIGKILL)
            mark.unlink()
            pool.succeed(lease, Completion("", "model", Usage(1, 1)))
    pool.close()


def _other_holders(mark: Path) -> list[str]:
    """Return the marks of others that hold the same key and live; each marks first and
    looks then.
    """
    found = []
    for path in mark.parent.iterdir():
        secret, pid, birth = path.name.split(" ")
        if (
            path.name != mark.name
            and secret == mark.name.split(" ")[0]
            and process_birth(int(pid)) == birth
        ):
            found.append(path.name)
    return found


def _open_pool(folder: Path) -> Pool:
    keys: list[Sequence[Key]] = [KEYS]
    return Pool(
        Store(folder / "pool.db", time.time),
        lambda: keys.pop() if keys else None,
        lambda _: None,
    )


def _find_lost(figures: Figures, folder: Path) -> None:
    """Take all keys at once after everybody has gone."""

    async def take_all() -> int:
        pool = _open_pool(folder)
        found = set()
        for _ in KEYS:
            lease = await asyncio.wait_for(
                pool.lease("openai", "model", 1, "x"), LONGEST_WAIT
            )
            found.add(lease.key)
        pool.close()
        return len(KEYS) - len(found)

    try:
        figures.values["lost_keys"] = asyncio.run(take_all())
    except TimeoutError:
        figures.values["lost_keys"] = "at least 1"
    figures.expect(
        figures.values["lost_keys"] == 0, f"{figures.values['lost_keys']} keys are lost"
    )


def _open_together(figures: Figures, folder: Path, times: int) -> None:
    """Let everybody open a pool that nobody has made yet."""
    for number in range(times):
        home = folder / f"home-{number}"
        home.mkdir()
        codes = [
            os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            for pid in _fork_openers(home)
        ]
        figures.add("opened_together", codes.count(0))
        figures.expect(
            not any(codes), f"opening {number}: processes ended with {codes}"
        )


def _fork_openers(home: Path) -> list[int]:
    start = time.monotonic() + 0.05

    def open_at_once() -> None:
        while time.monotonic() < start:
            pass
        _open_pool(home).close()

    return [fork(open_at_once) for _ in range(PROCESSES)]


def _share_in_threads(figures: Figures, count: int) -> None:
    """Do the same with the library's coordinator, whose holders may fail but give back
    what they hold.
    """
    secrets = [key.secret for key in KEYS]
    coordinator = CredentialCoordinator(
        secrets, announce=lambda _: None, busy_is_exhausted=False
    )
    held = {secret: threading.Lock() for secret in secrets}
    double, served = [], []

    def take_turns() -> None:
        for _ in range(count // PROCESSES):
            secret = coordinator.acquire()
            if secret is None:
                return
            if not held[secret].acquire(blocking=False):
                double.append(secret)
                continue
            served.append(secret)
            held[secret].release()
            coordinator.release(secret)

    threads = [
        threading.Thread(target=take_turns, daemon=True) for _ in range(PROCESSES)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST_WAIT)
    figures.values |= {
        "taken_in_threads": len(served),
        "double_use_in_threads": len(double),
    }
    figures.expect(not double, f"{len(double)} keys were held twice by threads")
    figures.expect(
        len(served) == count // PROCESSES * PROCESSES,
        f"threads were served {len(served)} times of {count}",
    )
    figures.expect(
        all(coordinator.acquire(0) for _ in secrets), "a key of the threads is lost"
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 10_000))
