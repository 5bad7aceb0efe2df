"""Let every fifth request fail in one of fifteen ways: what is said to be spent
brackets the server's bill.

Each way is a world of its own, asked through the real SDKs: the drafter in one
provider's wire format, the reviewer in the next one's. The same command is run until
every item has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults import market
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world
from tests.scenario import ScenarioProcess
from tests.support import World

ITEMS = 200
RATE = 0.2
MOST_RUNS = 12
PRICE_INPUT, PRICE_OUTPUT = 3.0, 15.0
TOLERANCE = 1.05
PATIENCE = {"AGENTOS_FIRST_BYTE_TIMEOUT": "2", "AGENTOS_IDLE_TIMEOUT": "2"}

WAYS: Mapping[str, Mapping[str, Any]] = {
    "rate-limit": {"kind": "rate-limit", "delay": 0.05},
    "overloaded": {"kind": "overloaded", "delay": 0.05},
    "capacity": {"kind": "capacity", "delay": 0.05},
    "server-error": {"kind": "server-error"},
    "proxy page": {"kind": "html", "status": 502},
    "reset": {"kind": "reset"},
    "reset in the stream": {"kind": "reset", "in_stream": True},
    "cut stream": {"kind": "cut-stream"},
    "silence": {"kind": "silence", "delay": 30.0},
    "silence in the stream": {"kind": "silence", "delay": 30.0, "in_stream": True},
    "empty": {"kind": "empty"},
    "verdict cut short": {"kind": "bad-json"},
    "garbled stream": {"kind": "bad-json", "in_stream": True},
    "error in the stream": {"kind": "server-error", "in_stream": True},
    "overload in the stream": {"kind": "overloaded", "in_stream": True},
}
_MODELS = ("openai:drafting-1", "anthropic:reviewing-1", "gemini:reviewing-2")
_UNBILLED = ("rate-limit", "overloaded", "capacity", "server-error", "proxy page")
"""Ways in which a status comes before any content: then everything that is billed is
counted.
"""


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Try so many ways, each with all items."""
    figures = Figures(
        "bills",
        seed,
        count,
        {"ways": 0, "items": 0, "requests": 0, "failed_requests": 0},
    )
    for number, name in enumerate(list(WAYS)[:count]):
        figures.add("ways")
        _try_way(figures, folder / f"way-{number}", name, seed + number, items, number)
    return figures


def _try_way(
    figures: Figures, folder: Path, name: str, seed: int, items: int, turn: int
) -> None:
    world = make_world(folder, items)
    drafter, reviewer = _MODELS[turn % 3], _MODELS[(turn + 1) % 3]
    script = {
        "price_input": PRICE_INPUT,
        "price_output": PRICE_OUTPUT,
        "fault": [{**WAYS[name], "rate": RATE, "seed": seed}],
    }
    price = f"{PRICE_INPUT:g}/{PRICE_OUTPUT:g}"
    command = (
        *(
            "lld-workflow",
            "--all",
            "--parallel",
            "10",
            "--drafter",
            drafter,
            "--reviewer",
            reviewer,
            "--retries",
            "2",
        ),
        *("--price", f"{drafter}={price}", "--price", f"{reviewer}={price}", "--quiet"),
    )
    with ScenarioProcess(script, folder / "server") as server:
        keys = [_key(model) for model in (drafter, reviewer)]
        market.write_keys(world, server.url, keys)
        finished = world.run(*command, environ=PATIENCE)
        runs = 1
        while finished.code == 1 and runs < MOST_RUNS:
            finished = world.run(*command, environ=PATIENCE)
            runs += 1
        market.wait_settled(server)
        ledger = server.ledger
    figures.expect(
        finished.code == 0,
        f"{name}: ended with {finished.code}: {finished.text[-1500:]}",
    )
    figures.add("items", items)
    figures.add("requests", len(ledger.calls()))
    figures.add("failed_requests", sum(bool(entry.reason) for entry in ledger.calls()))
    # A verdict that breaks off is a whole answer to the server.
    whole = [
        entry
        for entry in ledger.admitted()
        if not entry.reason or name == "verdict cut short"
    ]
    _check_sums(figures, world, name, ledger.bill(), sum(entry.cost for entry in whole))


def _key(model: str) -> dict[str, Any]:
    provider = model.partition(":")[0]
    return {
        "provider": provider,
        "key": f"sk-bills-{provider}-0123456789abcdef",
        "max_parallel": 10,
    }


def _check_sums(
    figures: Figures, world: World, name: str, bill: float, counted: float
) -> None:
    """Compare what the summaries of all runs say, and what the journal has, with the
    bill.
    """
    summaries = market.read_summaries(world)
    known = sum(summary["cost"] for summary in summaries)
    most = sum(summary["cost_at_most"] for summary in summaries)
    ((journal_known, journal_most),) = market.read_journal(
        world, "SELECT SUM(known), SUM(cost) FROM calls"
    )
    ((settled,),) = market.read_journal(
        world, "SELECT SUM(cost) FROM calls WHERE state = 'settled'"
    )
    slack = 1e-6 * len(market.read_journal(world, "SELECT id FROM calls"))
    figures.expect(
        known <= bill + slack,
        f"{name}: {known:.4f} is said to be known, the bill is {bill:.4f}",
    )
    figures.expect(
        bill <= most + slack,
        f"{name}: {most:.4f} at most is said, the bill is {bill:.4f}",
    )
    figures.expect(
        abs(known - journal_known / 1e6) < slack
        and abs(most - journal_most / 1e6) < slack,
        f"{name}: summaries say {known:.4f} to {most:.4f}, the journal {journal_known} to {journal_most}",
    )
    figures.expect(
        settled / 1e6 <= TOLERANCE * counted + slack,
        f"{name}: answers are said to cost {settled / 1e6:.4f}, the server bills {counted:.4f} for them",
    )
    if name in _UNBILLED:
        figures.expect(
            most <= TOLERANCE * bill + slack,
            f"{name}: {most:.4f} at most, the bill is {bill:.4f}",
        )
    figures.values.setdefault("known_to_most_of_bill", {})[name] = (
        f"{known / bill:.3f} to {most / bill:.3f}" if bill else "no bill"
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, len(WAYS)))
