"""Disturb batches in every way at once for as many blows as wanted: whatever happens, every item comes to an end.

Workers are killed, frozen and thawed, coordinators are killed and interrupted, the server refuses, breaks, cuts, hangs
and overloads, a key is revoked and another is added. After the last blow the batch is run to its end. The server's
ledger is the history: no key is used more often at once than it may be, no group is over its limit, and the calls go
on at all times.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world, wait_deserted
from tests.scenario import ScenarioProcess
from tests.support import SIGINT, SIGKILL, Running, World

ITEMS = 40
WORKERS = 6
MAX_PARALLEL = 3
REQUESTS = 60
WINDOW = 5.0
DEADLOCK_AFTER = 30.0
IDLE_TIMEOUT = "1.5"
ENVIRON = {"AGENTOS_RATE_WINDOW": str(WINDOW), "AGENTOS_IDLE_TIMEOUT": IDLE_TIMEOUT}
FAULTS = (
    {"kind": "rate-limit", "delay": 0.5, "rate": 0.3, "seed": 1},
    {"kind": "server-error", "rate": 0.3, "seed": 2},
    {"kind": "overloaded", "delay": 0.3, "rate": 0.3, "seed": 3},
    {"kind": "overloaded", "delay": 0.3, "rate": 0.3, "seed": 4, "in_stream": True},
    {"kind": "cut-stream", "rate": 0.2, "seed": 5},
    {"kind": "reset", "rate": 0.2, "seed": 6},
    {"kind": "silence", "delay": 20.0, "rate": 0.1, "seed": 7},
)
COMMAND = market.command("--retries", "3", parallel=WORKERS)


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Strike so many blows; a batch that ends before the last is followed by the next."""
    figures = Figures("nemesis", seed, count, {"batches": 0, "blows": 0, "runs": 0, "calls": 0, "failed_items": 0})
    rng = random.Random(seed)
    while figures.values["blows"] < count:
        figures.add("batches")
        _disturb_batch(figures, folder / f"batch-{figures.values['batches']}", rng, count, items)
    return figures


def _disturb_batch(figures: Figures, folder: Path, rng: random.Random, count: int, items: int) -> None:
    where = f"batch {figures.values['batches']}"
    world = make_world(folder, items)
    names = [f"{provider}-{number}" for provider in ("openai", "gemini") for number in (1, 2, 3)]
    secrets = {name: f"nemesis-{name}-{rng.getrandbits(32):08x}" for name in names}
    groups = [{"name": name, "requests_per_window": REQUESTS} for name in names]
    keys = [{"secret": secret, "group": name} for name, secret in secrets.items()]
    entries: list[dict[str, Any]] = [
        {"provider": name.partition("-")[0], "key": secret, "group": name, "max_parallel": MAX_PARALLEL}
        for name, secret in secrets.items()
    ]
    script = {"window": WINDOW, "latency": 0.05, "tokens_per_second": 20_000, "group": groups, "key": keys}
    with ScenarioProcess(script, folder / "server") as server:
        # The last of each provider is held back, to be put in during the run.
        market.write_keys(world, server.url, [entry for entry in entries if not entry["group"].endswith("3")])
        while _run_once(figures, world, server, rng, count, where):
            pass
        server.change(fault=[])
        market.write_keys(world, server.url, entries)
        _run_to_the_end(figures, world, items, where)
        for name in names:
            peak = server.ledger.most_in_window(name)
            figures.raise_to("most_at_once", peak.at_once)
            figures.expect(peak.requests <= REQUESTS, f"{where}: {name} had {peak.requests} requests in a window")
        figures.add("calls", len(server.ledger.calls()))
    figures.expect_none(wait_deserted(world, 2.0), where)


def _run_once(
    figures: Figures, world: World, server: ScenarioProcess, rng: random.Random, count: int, where: str
) -> bool:
    """Run the command and strike it until it ends; tell whether there is more to be done to it."""
    figures.add("runs")
    with world.start(*COMMAND, environ=ENVIRON) as running:
        last_call, calls = time.monotonic(), len(server.ledger.calls())
        while running.process.poll() is None and figures.values["blows"] < count:
            _strike(running, server, rng)
            figures.add("blows")
            running.ends_within(rng.uniform(0.05, 0.4))
            if (now := len(server.ledger.calls())) > calls:
                last_call, calls = time.monotonic(), now
            quiet = time.monotonic() - last_call
            figures.raise_to("longest_silence_seconds", round(quiet, 1))
            figures.expect(quiet < DEADLOCK_AFTER, f"{where}: no call for {quiet:.0f} s:\n{running.text[-1500:]}")
            if quiet >= DEADLOCK_AFTER:
                return False
        is_struck_to_the_end = figures.values["blows"] >= count
        if running.process.poll() is None:
            running.signal(SIGINT)
        finished = running.finish()
    # The interpreter's own start may answer Ctrl+C with a traceback.
    is_ours = "Traceback" in finished.text and "agentos/" in finished.text
    figures.expect(not is_ours, f"{where}: {finished.text[-1500:]}")
    return not is_struck_to_the_end and finished.code != 0


def _strike(running: Running, server: ScenarioProcess, rng: random.Random) -> None:
    blow = rng.random()
    with suppress(psutil.Error, ProcessLookupError):
        if blow < 0.25:
            workers = running.workers()
            if workers:
                os.kill(rng.choice(workers).pid, SIGKILL)
        elif blow < 0.45:
            workers = running.workers()
            if workers:
                victim = rng.choice(workers).pid
                os.kill(victim, signal.SIGSTOP)
                running.ends_within(rng.uniform(0.01, 0.3))
                os.kill(victim, signal.SIGCONT)
        elif blow < 0.9:
            server.change(fault=rng.sample(FAULTS, rng.randint(0, 3)))
        elif blow < 0.95:
            running.signal(SIGKILL)
        else:
            running.signal(SIGINT)


def _run_to_the_end(figures: Figures, world: World, items: int, where: str) -> None:
    finished = world.run(*COMMAND, environ=ENVIRON)
    figures.expect(finished.code in (0, 1), f"{where}: ended with {finished.code}: {finished.text[-1500:]}")
    rows = _read_records(world)
    figures.add("failed_items", sum(row["state"] == "failed" for row in rows))
    figures.expect(len(rows) == items, f"{where}: {len(rows)} items on record, not {items}")
    for row in rows:
        is_explained = row["state"] == "approved" or (row["state"] == "failed" and row["failure"])
        figures.expect(bool(is_explained), f"{where}: no end for {row}")
    figures.expect(finished.code == 0, f"{where}: items failed although nothing struck them: {finished.text[-1500:]}")


def _read_records(world: World) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in (world.home / "items").glob("*/*.json")]


if __name__ == "__main__":
    raise SystemExit(main(measure, 2000))
