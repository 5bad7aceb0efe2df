"""How much time does the gateway add to a call, and how much memory do many calls in
flight take?
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import Figure, Result, print_result

if TYPE_CHECKING:
    from agentos.gateway.keys import Key
    from agentos.gateway.providers import Request
    from agentos.gateway.server import Gateway

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 10
CALLS = 8
"""Calls of each worker in a round."""
ROUNDS = 3
LATENCY = 1.0
MEMORY_DISK = Path("/dev/shm")
IN_FLIGHT = 500
SECRETS = tuple(f"key-number-{number}" for number in range(1, 4))
MODELS = {
    "openai": "gpt-6-luna",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3.5-flash",
}
ADDED_TARGET = 5.0
MEMORY_TARGET = 200.0
PATIENCE = 300.0
METHOD = (
    f"Added time: {WORKERS} workers make calls of {LATENCY:g} s, one after the other, through the openai SDK to a "
    "server in its own process. They use the provider alone, then the gateway (journal on disk, pool on disk with "
    f"{len(SECRETS)} keys, price, redaction), then the gateway with journal and pool on an in-memory disk, where "
    f"syncing a write takes no time. The three alternate in one process, in {ROUNDS} rounds of {WORKERS * CALLS} "
    "calls each, with workers starting evenly over the time of one call, after one call of each that is not "
    f"counted. The result is the difference of the medians of all rounds. Memory: {IN_FLIGHT} calls in flight "
    "through the gateway, a third each with the openai, anthropic and google-genai SDKs, all streams started and "
    "silent; resident and private memory (USS) of the process with gateway and SDKs, read from outside."
)


def main() -> int:
    """Print what is added and what is held as JSON; with an argument, be the process
    that is measured.
    """
    if len(sys.argv) == 3:
        asyncio.run({"calls": _time_calls, "flight": _fly}[sys.argv[1]](sys.argv[2]))
        return 0
    return print_result(measure)


def measure() -> Result:
    """Measure both, each against a server of its own."""
    seconds = measure_calls()
    memory = measure_memory()
    medians = {name: statistics.median(times) * 1000 for name, times in seconds.items()}
    alone, through = medians["alone"], medians["gateway"]
    in_memory = [
        Figure(
            f"the same with journal and pool in memory, {WORKERS} workers, median",
            medians["in memory"] - alone,
            "ms",
            note=f"{medians['in memory']:.1f} ms against {alone:.1f} ms",
        )
        for name in medians
        if name == "in memory"
    ]
    figures = [
        Figure(
            f"time that the gateway adds to a call, {WORKERS} workers, median",
            through - alone,
            "ms",
            ADDED_TARGET,
            note=f"{through:.1f} ms against {alone:.1f} ms",
        ),
        *in_memory,
        Figure(
            f"memory with {IN_FLIGHT} calls in flight, resident",
            memory["rss"],
            "MB",
            MEMORY_TARGET,
        ),
        Figure(
            f"memory with {IN_FLIGHT} calls in flight, private",
            memory["uss"],
            "MB",
            MEMORY_TARGET,
        ),
    ]
    facts = {
        **{
            f"{name.replace(' ', '_')}_ms": _percentiles(times)
            for name, times in seconds.items()
        },
        "memory_mb": {name: round(size, 1) for name, size in memory.items()},
    }
    return Result(__doc__ or "", METHOD, figures, facts)


def measure_calls() -> Mapping[str, Sequence[float]]:
    """Return the seconds of calls with the provider alone and through the gateway."""
    from tests.scenario import ScenarioProcess

    with (
        _folder() as name,
        ScenarioProcess({"latency": LATENCY}, Path(name) / "server") as server,
    ):
        ended = subprocess.run(
            _command("calls", server.url),
            cwd=ROOT,
            env=_environ(name),
            stdout=subprocess.PIPE,
            check=True,
        )
    seconds: Mapping[str, Sequence[float]] = json.loads(ended.stdout)
    return seconds


def measure_memory() -> Mapping[str, float]:
    """Return the megabytes of a process with nothing in flight, and with all calls in
    flight.
    """
    import psutil

    from tests.scenario import ScenarioProcess

    script = {"fault": [{"kind": "silence", "in_stream": True}]}
    with _folder() as name, ScenarioProcess(script, Path(name) / "server") as server:
        command = _command("flight", server.url)
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env=_environ(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdout.readline()
                observed = psutil.Process(process.pid)
                before = observed.memory_full_info()
                process.stdin.write(b"\n")
                process.stdin.flush()
                _wait_until_under_way(server.url, IN_FLIGHT)
                during = observed.memory_full_info()
            finally:
                process.kill()
    return {
        "before_rss": before.rss / 1e6,
        "before_uss": before.uss / 1e6,
        "rss": during.rss / 1e6,
        "uss": during.uss / 1e6,
    }


def _wait_until_under_way(url: str, count: int) -> None:
    """Wait until the server holds so many streams, and a moment for what they have
    begun with to be read.
    """
    import urllib.request

    deadline = time.monotonic() + PATIENCE
    while True:
        with urllib.request.urlopen(f"{url}/__ledger", timeout=PATIENCE) as answer:
            calls = json.load(answer)["calls"]
        if len(calls) >= count:
            time.sleep(1.0)
            return
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"{len(calls)} of {count} calls are under way after {PATIENCE:g} s"
            )
        time.sleep(0.2)


async def _time_calls(url: str) -> None:
    """Print the seconds of all kinds of calls, by turns."""
    model = f"openai:{MODELS['openai']}"
    gateway, keys = _open_gateway(
        url, ("openai",), WORKERS, Path(os.environ["AGENTOS_HOME"])
    )
    provider = gateway.provider(model)
    numbers = iter(range(10**9))

    async def ask_alone(request: Request) -> None:
        await provider.complete(request, keys[int(request.item) % len(keys)].credential)

    ways: dict[str, Callable[[Request], Awaitable[object]]] = {
        "alone": ask_alone,
        "gateway": gateway.answer,
    }
    disk = find_memory_disk()
    with tempfile.TemporaryDirectory(dir=disk) as name:
        if disk is not None:
            ways["in memory"] = _open_gateway(url, ("openai",), WORKERS, Path(name))[
                0
            ].answer
        seconds: dict[str, list[float]] = {name: [] for name in ways}

        async def work(way: str, calls: int, delay: float, kept: list[float]) -> None:
            await asyncio.sleep(delay)
            for _ in range(calls):
                request = _request(model, next(numbers))
                started = time.perf_counter()
                await ways[way](request)
                kept.append(time.perf_counter() - started)

        for way in ways:
            await asyncio.gather(*(work(way, 1, 0.0, []) for _ in range(WORKERS)))
        for _ in range(ROUNDS):
            for way in ways:
                delays = (LATENCY * number / WORKERS for number in range(WORKERS))
                await asyncio.gather(
                    *(work(way, CALLS, delay, seconds[way]) for delay in delays)
                )
    print(json.dumps(seconds))


def find_memory_disk() -> Path | None:
    """Return a folder that is kept in memory, where there is one."""
    return MEMORY_DISK if MEMORY_DISK.is_dir() else None


async def _fly(url: str) -> None:
    """Load all SDKs, say so, and on a word start all calls; ends with its process."""
    gateway, keys = _open_gateway(
        url, tuple(MODELS), IN_FLIGHT, Path(os.environ["AGENTOS_HOME"])
    )
    for key in keys:
        await gateway.provider(f"{key.provider}:{MODELS[key.provider]}").check(
            key.credential
        )
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    models = [f"{provider}:{model}" for provider, model in MODELS.items()]
    calls = (
        gateway.answer(_request(models[number % len(models)], number))
        for number in range(IN_FLIGHT)
    )
    await asyncio.gather(*calls)


def _open_gateway(
    url: str, providers: Sequence[str], max_parallel: int, home: Path
) -> tuple[Gateway, Sequence[Key]]:
    """Return a gateway as a run has it, on disk, whose groups have been seen to bear
    that many calls.
    """
    from agentos.gateway.journal.sqlite import SqliteJournal
    from agentos.gateway.keys import Key
    from agentos.gateway.keys.choice import group_name
    from agentos.gateway.keys.limits import QuotaState
    from agentos.gateway.keys.pool import Pool
    from agentos.gateway.keys.store import Store
    from agentos.gateway.prices import flat_price
    from agentos.gateway.server import Gateway
    from agentos.state.redaction import register

    home.mkdir(mode=0o700, exist_ok=True)
    keys = [
        Key(
            provider,
            secret,
            secret,
            max_parallel,
            f"{url}/v1" if provider == "openai" else url,
        )
        for provider in providers
        for secret in SECRETS
    ]
    for secret in SECRETS:
        register(secret)
    store = Store(home / "pool.db", time.time)
    with store.exclusively() as transaction:
        for key in keys:
            transaction.set_quota_state(
                group_name(key),
                QuotaState(ceiling=float(max_parallel)),
            )
    pool = Pool(store, lambda: keys, lambda _: None)
    price = flat_price(1_000_000, 5_000_000, "made up")
    return Gateway(
        SqliteJournal(home / "journal.db", "run"), pool, price=lambda _: price
    ), keys


def _request(model: str, number: int) -> Request:
    from agentos.gateway.providers import Request, ask_once

    prompt = (
        f"Question {number}. " + "What would you change in this design, and why? " * 100
    )
    return Request(
        "r",
        "lld",
        str(number),
        "draft",
        1,
        1,
        "lld.draft",
        model,
        ask_once(prompt),
        {},
    )


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="agentos-benchmark-")


def _command(part: str, url: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.gateway", part, url]


def _environ(folder: str) -> dict[str, str]:
    from benchmarks.scene import clean_environment

    return clean_environment(Path(folder))


def _percentiles(seconds: Sequence[float]) -> Mapping[str, float]:
    ordered = sorted(seconds)
    return {
        f"p{part}": round(ordered[(len(ordered) - 1) * part // 100] * 1000, 1)
        for part in (5, 50, 90, 99)
    }


if __name__ == "__main__":
    raise SystemExit(main())
