"""Run two commands at once with the same keys: no quota group is ever over its limits,
and nobody starves.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.faults import evidence, market
from tests.faults.figures import Figures, main
from tests.faults.market import CALLS_AN_ITEM
from tests.faults.scene import make_world
from tests.scenario import Ledger, ScenarioProcess
from tests.support import World

ITEMS = 10
WORKERS = 10
WINDOW = 8.0
"""Seconds of a minute. The pool allows 2% of it for the way to the server; of less a
busy machine needs more.
"""
GROUPS_A_PROVIDER = 2
LIMITS = {"openai": (6, 60_000), "gemini": (20, 18_000)}
"""Requests and tokens a window: the one provider is short of requests, the other of
tokens.
"""
MOST_REFUSED = 0.02
LONGEST_WAIT = 30.0


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Run so many pairs of commands, each pair with a home and a server of its own."""
    figures = Figures(
        "shared_keys",
        seed,
        count,
        {"runs": 0, "calls": 0, "refused": 0, "longest_wait_seconds": 0.0},
    )
    rng = random.Random(seed)
    for number in range(1, count + 1):
        _run_pair(figures, folder / f"pair-{number}", rng, items, f"pair {number}")
        figures.add("runs")
    share = figures.values["refused"] / figures.values["calls"]
    figures.values["refused_share"] = round(share, 4)
    figures.expect(share <= MOST_REFUSED, f"{share:.1%} of the calls were answered 429")
    return figures


def _groups() -> list[dict[str, Any]]:
    return [
        {
            "name": f"{provider}-{number}",
            "requests_per_window": requests,
            "tokens_per_window": tokens,
        }
        for provider, (requests, tokens) in LIMITS.items()
        for number in range(GROUPS_A_PROVIDER)
    ]


def _run_pair(
    figures: Figures, folder: Path, rng: random.Random, items: int, where: str
) -> None:
    secrets = {group["name"]: f"shared-{group['name']}-key" for group in _groups()}
    script = {
        "window": WINDOW,
        "latency": rng.uniform(0.02, 0.2),
        "group": _groups(),
        "key": [{"secret": secret, "group": name} for name, secret in secrets.items()],
    }
    entries = [
        {
            "provider": group["name"].partition("-")[0],
            "key": secrets[group["name"]],
            "group": group["name"],
            "requests_per_minute": group["requests_per_window"],
            "tokens_per_minute": group["tokens_per_window"],
        }
        for group in _groups()
    ]
    first = make_world(folder / "one", items)
    second = make_world(folder / "two", items)
    worlds = [first, World(second.repo, first.home, first.environ)]
    with ScenarioProcess(script, folder / "server") as server:
        market.write_keys(first, server.url, entries)
        window = {"AGENTOS_RATE_WINDOW": str(WINDOW)}
        command = market.command(parallel=WORKERS)
        with (
            worlds[0].start(*command, environ=window) as one,
            worlds[1].start(*command, environ=window) as two,
        ):
            for name, finished in (("one", one.finish()), ("two", two.finish())):
                figures.raise_to("longest_run_seconds", finished.seconds)
                figures.expect(
                    finished.code == 0,
                    f"{where}, {name}: {finished.code}: {finished.text[-2000:]}",
                )
                figures.expect(
                    "Traceback" not in finished.text,
                    f"{where}, {name}: {finished.text[-2000:]}",
                )
        ledger = server.ledger
    _check_limits(figures, ledger, where)
    admitted = len(ledger.admitted())
    figures.expect(
        admitted == 2 * CALLS_AN_ITEM * items,
        f"{where}: {admitted} calls were answered",
    )
    _check_waits(figures, first, where)


def _check_limits(figures: Figures, ledger: Ledger, where: str) -> None:
    for group in ledger.groups():
        peak = ledger.most_in_window(group)
        provider = group.partition("-")[0]
        requests, tokens = LIMITS[provider]
        figures.raise_to(f"{provider}_requests_in_a_window", peak.offered)
        figures.raise_to(f"{provider}_tokens_in_a_window", peak.tokens)
        figures.expect(
            peak.offered <= requests,
            f"{where}: {group} was offered {peak.offered} requests in a window",
        )
        figures.expect(
            peak.tokens <= tokens,
            f"{where}: {group} saw {peak.tokens} tokens in a window",
        )
    figures.add("calls", len(ledger.calls()))
    figures.add("refused", sum(entry.status == 429 for entry in ledger.calls()))


def _check_waits(figures: Figures, world: World, where: str) -> None:
    """Look at how long each call waited for its key; the same numbers in both
    repositories share one home.
    """
    events = [
        event
        for path in evidence.audit_files(world)
        for event in evidence.read_events(path)
    ]
    waits = [
        event["waited_for_key"]
        for event in events
        if event["event"] == "call" and "waited_for_key" in event
    ]
    figures.expect(bool(waits), f"{where}: no call was audited")
    longest = max(waits, default=0.0)
    figures.raise_to("longest_wait_seconds", longest)
    figures.expect_swift(
        longest <= LONGEST_WAIT, f"{where}: a call waited {longest:.1f} s for its key"
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 50))
