"""Disturb batches in every way at once for as many blows as wanted: whatever happens,
every item comes to an end.

Workers are killed, frozen and thawed, coordinators are killed and interrupted, the
server refuses, breaks, cuts, hangs and overloads, keys are revoked and others are
added, the wall clock is put forward and back by an hour, and the disk with the home is
full for a while. After the last blow the batch is run to its end. The server's ledger
is the history: no key is used more often at once than it may be, no group is over its
limit, and the calls go on at all times.

The shifted clock is that of the coordinator, where the keys and the journal are;
workers get an environment of their
own, without the library that shifts it, and the server keeps the true time. It needs
libfaketime (Debian's package
`faketime`), and the full disk needs the right to mount one; the figures say where
either is missing.

A blow takes about a third of a second. For an hour of them, however many that are:
`NEMESIS_SECONDS=3600 python -m tests.faults.nemesis`
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.scene import (
    SmallDisk,
    WallClock,
    find_faketime,
    make_world,
    small_disk,
    wait_deserted,
)
from tests.scenario import ScenarioProcess
from tests.support import SIGINT, SIGKILL, Finished, Running, World

ITEMS = 40
WORKERS = 6
MAX_PARALLEL = 3
REQUESTS = 12
WINDOW = 5.0
DEADLOCK_AFTER = 30.0
IDLE_TIMEOUT = "1.5"
PATIENCE_AT_THE_END = 240.0
DISK_MEGABYTES = 32
LONGEST_FULL = 4.0
SHIFTS = (-3600, 0, 3600)
MOST_OVER_LIMIT = 0.02
FEW_OVER_LIMIT = 3
"""How many calls may be over a limit, beside that part of all: on a busy machine some
are late on their way.
"""
NAMES = tuple(
    f"{provider}-{number}" for provider in ("openai", "gemini") for number in (1, 2, 3)
)
ENVIRON = {
    "AGENTOS_RATE_WINDOW": str(WINDOW),
    "AGENTOS_IDLE_TIMEOUT": IDLE_TIMEOUT,
    "AGENTOS_FIRST_BYTE_TIMEOUT": IDLE_TIMEOUT,
}
SECONDS_VARIABLE = "NEMESIS_SECONDS"
FAULTS = (
    {"kind": "rate-limit", "delay": 0.5, "rate": 0.3, "seed": 1},
    {"kind": "server-error", "rate": 0.3, "seed": 2},
    {"kind": "overloaded", "delay": 0.3, "rate": 0.3, "seed": 3},
    {"kind": "overloaded", "delay": 0.3, "rate": 0.3, "seed": 4, "in_stream": True},
    {"kind": "cut-stream", "rate": 0.2, "seed": 5},
    {"kind": "reset", "rate": 0.2, "seed": 6},
    {"kind": "silence", "delay": 20.0, "rate": 0.1, "seed": 7},
)
BLOWS = {
    "kill worker": 20,
    "freeze worker": 15,
    "spoil answers": 30,
    "put clock": 20,
    "fill disk": 6,
    "revoke key": 2,
    "kill": 3,
    "interrupt": 3,
}
"""How often each kind of blow is struck."""
COMMAND = market.command("--retries", "3", parallel=WORKERS)


@dataclass
class Arena:
    """One batch, everything around it, and what is known of it."""

    figures: Figures
    rng: random.Random
    world: World
    server: ScenarioProcess
    clock: WallClock
    disk: SmallDisk
    secrets: Mapping[str, str]
    where: str
    revoked: set[str] = field(default_factory=set)

    def write_keys(self, names: Sequence[str]) -> None:
        """Put these keys into the key file."""
        entries = [
            {
                "provider": name.partition("-")[0],
                "key": self.secrets[name],
                "group": name,
                "max_parallel": MAX_PARALLEL,
                "requests_per_minute": REQUESTS,
            }
            for name in names
        ]
        market.write_keys(self.world, self.server.url, entries)

    def revoke(self, name: str) -> None:
        """Have a key refused from now on, and put those in that were held back."""
        self.revoked.add(name)
        self.server.change(key=_server_keys(self.secrets, self.revoked))
        self.write_keys(NAMES)


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Strike so many blows; a batch that ends before the last is followed by the
    next.
    """
    figures = Figures(
        "nemesis",
        seed,
        count,
        {"batches": 0, "blows": 0, "runs": 0, "calls": 0, "failed_items": 0},
    )
    figures.values["clock"] = (
        "shifted" if find_faketime() else "not shifted: no libfaketime"
    )
    rng = random.Random(seed)
    seconds = float(os.environ.get(SECONDS_VARIABLE, "0"))
    deadline = time.monotonic() + seconds

    def is_over() -> bool:
        return (
            time.monotonic() > deadline
            if seconds
            else bool(figures.values["blows"] >= count)
        )

    while not is_over():
        figures.add("batches")
        _disturb_batch(
            figures, folder / f"batch-{figures.values['batches']}", rng, items, is_over
        )
    over, calls = figures.values["over_limit"], figures.values["calls"]
    figures.expect(
        over <= FEW_OVER_LIMIT + MOST_OVER_LIMIT * calls,
        f"{over} of {calls} calls were over a limit",
    )
    return figures


def _disturb_batch(
    figures: Figures,
    folder: Path,
    rng: random.Random,
    items: int,
    is_over: Callable[[], bool],
) -> None:
    where = f"batch {figures.values['batches']}"
    world = make_world(folder, items)
    secrets = {name: f"nemesis-{name}-{rng.getrandbits(32):08x}" for name in NAMES}
    groups = [{"name": name, "requests_per_window": REQUESTS} for name in NAMES]
    script = {
        "window": WINDOW,
        "latency": 0.05,
        "tokens_per_second": 20_000,
        "group": groups,
    }
    script["key"] = _server_keys(secrets, ())
    with (
        small_disk(world.home, DISK_MEGABYTES) as disk,
        ScenarioProcess(script, folder / "server") as server,
    ):
        figures.values["disk"] = (
            "filled up" if disk.is_mounted else "not filled up: cannot mount"
        )
        arena = Arena(
            figures, rng, world, server, WallClock(folder), disk, secrets, where
        )
        arena.write_keys([name for name in NAMES if not name.endswith("3")])
        while _run_once(arena, is_over):
            # Most of them find room at their start, or a run would rarely come to the
            # point of asking anything.
            disk.relieve(at_once=rng.random() < 0.8)
        disk.relieve(at_once=True)
        server.change(fault=[])
        arena.write_keys(NAMES)
        _run_to_the_end(arena, items)
        _check_history(arena)
        figures.expect_none(wait_deserted(world, 2.0), where)


def _server_keys(
    secrets: Mapping[str, str], revoked: Collection[str]
) -> list[dict[str, str]]:
    return [
        {
            "secret": secret,
            "group": name,
            "state": "revoked" if name in revoked else "ok",
        }
        for name, secret in secrets.items()
    ]


@contextmanager
def _start(arena: Arena) -> Iterator[Running]:
    with arena.world.start(
        *COMMAND, environ={**ENVIRON, **arena.clock.environ}
    ) as running:
        try:
            yield running
        finally:
            arena.clock.tidy(running.pid)


def _run_once(arena: Arena, is_over: Callable[[], bool]) -> bool:
    """Run the command and strike it until it ends; tell whether there is more to be
    done to it.
    """
    figures, where = arena.figures, arena.where
    figures.add("runs")
    with _start(arena) as running:
        last_call, calls = time.monotonic(), len(arena.server.ledger.calls())
        while running.process.poll() is None and not is_over():
            _strike(running, arena)
            figures.add("blows")
            running.ends_within(arena.rng.uniform(0.05, 0.4))
            arena.disk.relieve()
            if (now := len(arena.server.ledger.calls())) > calls:
                last_call, calls = time.monotonic(), now
            quiet = time.monotonic() - last_call
            figures.raise_to("longest_silence_seconds", round(quiet, 1))
            figures.expect(
                quiet < DEADLOCK_AFTER,
                f"{where}: no call for {quiet:.0f} s:\n{running.text[-1500:]}",
            )
            if quiet >= DEADLOCK_AFTER:
                return False
        is_struck_to_the_end = is_over()
        if running.process.poll() is None:
            running.signal(SIGINT)
        finished = running.finish()
    _check_words(arena, finished)
    return not is_struck_to_the_end and finished.code != 0


def _strike(running: Running, arena: Arena) -> None:
    rng = arena.rng
    (blow,) = rng.choices(list(BLOWS), list(BLOWS.values()))
    # Drawn before it is looked for: what comes next must not depend on how far the
    # machine has got.
    luck, seconds = rng.random(), rng.random()
    workers = running.workers() if blow.endswith("worker") else []
    with suppress(psutil.Error, ProcessLookupError):
        match blow:
            case "kill worker" if workers:
                os.kill(workers[int(luck * len(workers))].pid, SIGKILL)
            case "freeze worker" if workers:
                victim = workers[int(luck * len(workers))].pid
                os.kill(victim, signal.SIGSTOP)
                running.ends_within(0.3 * seconds)
                os.kill(victim, signal.SIGCONT)
            case "spoil answers":
                arena.server.change(fault=rng.sample(FAULTS, int(4 * luck)))
            case "put clock" if arena.clock.can_be_put:
                arena.clock.put(SHIFTS[int(luck * len(SHIFTS))])
                arena.figures.add("shifts")
            case "fill disk" if arena.disk.is_mounted and not arena.disk.is_full:
                arena.disk.fill(LONGEST_FULL * seconds)
                arena.figures.add("full_disks")
            case "revoke key" if not arena.disk.is_full:
                arena.revoke("openai-1" if luck < 0.5 else "gemini-1")
            case "kill":
                running.signal(SIGKILL)
            case "interrupt":
                running.signal(SIGINT)


def _check_words(arena: Arena, finished: Finished) -> None:
    """Look at what the user has seen."""
    # The interpreter's own start may answer Ctrl+C with a traceback.
    is_ours = "Traceback" in finished.text and "agentos/" in finished.text
    is_clear = not is_ours and "internal error" not in finished.text
    arena.figures.expect(is_clear, f"{arena.where}: {finished.text[-1500:]}")


def _run_to_the_end(arena: Arena, items: int) -> None:
    figures, where = arena.figures, arena.where
    with _start(arena) as running:
        finished = running.finish(PATIENCE_AT_THE_END)
    _check_words(arena, finished)
    figures.expect(
        finished.code in (0, 1),
        f"{where}: ended with {finished.code}: {finished.text[-1500:]}",
    )
    rows = [
        json.loads(path.read_bytes())
        for path in (arena.world.home / "items").glob("*/*.json")
    ]
    figures.add("failed_items", sum(row["state"] == "failed" for row in rows))
    figures.expect(
        len(rows) == items, f"{where}: {len(rows)} items on record, not {items}"
    )
    for row in rows:
        is_explained = row["state"] == "approved" or (
            row["state"] == "failed" and row["failure"]
        )
        figures.expect(bool(is_explained), f"{where}: no end for {row}")
    figures.expect(
        finished.code == 0,
        f"{where}: items failed although nothing struck them: {finished.text[-1500:]}",
    )


def _check_history(arena: Arena) -> None:
    """Look at what the server has seen, and at what is still lent."""
    figures, ledger = arena.figures, arena.server.ledger
    for name in NAMES:
        peak = ledger.most_in_window(name)
        figures.raise_to("most_at_once", peak.at_once)
        figures.raise_to("most_in_a_window", peak.requests)
        figures.expect(
            peak.at_once <= MAX_PARALLEL,
            f"{arena.where}: {name} had {peak.at_once} calls at once",
        )
        figures.expect(
            peak.requests <= REQUESTS,
            f"{arena.where}: {name} had {peak.requests} requests in a window",
        )
    lent = market.read_pool(
        arena.world, "SELECT key FROM leases UNION ALL SELECT provider FROM waiting"
    )
    figures.expect(
        not lent,
        f"{arena.where}: nobody is left, and these are lent or waited for: {lent}",
    )
    figures.add("calls", len(ledger.calls()))
    figures.add(
        "over_limit", sum(entry.reason == "requests" for entry in ledger.calls())
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 2000))
