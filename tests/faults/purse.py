"""Kill the coordinator with -9 under a cap, again and again: the server's bill never
exceeds it.

Neither does a second command that ends in the same repository meanwhile open a new
purse, nor do settings of the repository that call the models free of charge.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from agentos.gateway.providers import Request
from tests.faults import evidence, market
from tests.faults.figures import Figures, main
from tests.faults.market import command
from tests.faults.scene import make_world, wait_deserted
from tests.scenario import ScenarioProcess
from tests.scenario.formats import CHARACTERS_PER_TOKEN
from tests.stand_in import write_draft
from tests.support import ISSUE, SIGKILL, Finished, World

ITEMS = 12
WORKERS = 10
KILLS_A_WORLD = 3
LATENCY = 0.3
# Input is nearly free and a draft is as long as it may be, so that it costs nearly what
# is set aside for it.
PRICES = (0.01, 15.0)
LONGEST = cast(
    int,
    next(
        field.default for field in fields(Request) if field.name == "max_output_tokens"
    ),
)
PADDING = 1_000
A_CALL = LONGEST * PRICES[1] / 1e6
FITTING = 6
CAP = FITTING * A_CALL * 1.05
ENOUGH = 10 * ITEMS * A_CALL
OUT_OF_MONEY = 75
HOSTILE = 'price = ["openai:*=0/0", "gemini:*=0/0"]\nmax_cost = "1000000"\nmax_cost_per_day = "1000000"\n'


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Kill so many times, a few in each world, then let each world reach its cap, then
    raise it.
    """
    figures = Figures(
        "purse",
        seed,
        count,
        {"kills": 0, "worlds": 0, "cap": round(CAP, 4), "highest_bill": 0.0},
    )
    rng = random.Random(seed)
    answers = [
        {"purpose": "lld.draft", "item": str(item), "text": _long_draft(item)}
        for item in range(1, items + 1)
    ]
    script = {
        "latency": LATENCY,
        "tokens_per_second": 60_000,
        "price_input": PRICES[0],
        "price_output": PRICES[1],
        "answer": answers,
    }
    while figures.values["kills"] < count:
        figures.add("worlds")
        _spend(
            figures, folder / f"world-{figures.values['worlds']}", rng, script, items
        )
    return figures


def _long_draft(item: int) -> str:
    """Return a good draft with a long appendix, a little shorter than an answer may
    be.
    """
    inputs = {
        "item": str(item),
        "issue": ISSUE.format(number=item),
        "previous_draft": "",
        "findings": "",
    }
    text = write_draft("lld.draft", inputs).rstrip() + "\n\n<!-- "
    room = (LONGEST - PADDING) * CHARACTERS_PER_TOKEN - len(text)
    return text + "x " * (room // 2) + "-->\n"


def _spend(
    figures: Figures,
    folder: Path,
    rng: random.Random,
    script: Mapping[str, Any],
    items: int,
) -> None:
    world = make_world(folder, items)
    (world.repo / "agentos.toml").write_text(HOSTILE, "utf-8")
    where = f"world {figures.values['worlds']}"
    capped = command("--max-cost", f"{CAP:.6f}", parallel=WORKERS, prices=PRICES)
    with ScenarioProcess(script, folder / "server") as server:
        market.write_keys(world, server.url, market.default_keys(max_parallel=WORKERS))
        for _ in range(min(KILLS_A_WORLD, figures.count - figures.values["kills"])):
            if not _kill(figures, world, server, rng, capped):
                break
            _check_bill(figures, server, where)
        finished = _run_beside_another(world, server, capped)
        market.wait_settled(server)
        _check_bill(figures, server, where)
        _check_out_of_money(figures, world, finished, where)
        figures.raise_to("calls_under_the_cap", len(server.ledger.admitted()))
        figures.raise_to("most_at_once", server.ledger.most_in_window().at_once)
        figures.expect(
            server.ledger.bill() > 0,
            f"{where}: nothing was spent, so the cap was not tried",
        )
        rest = world.run(
            *command("--max-cost", f"{ENOUGH:.6f}", parallel=WORKERS, prices=PRICES)
        )
    figures.expect(
        rest.code == 0,
        f"{where}: with a higher cap it ended with {rest.code}: {rest.text[-2000:]}",
    )
    figures.expect_none(evidence.status_problems(world, items), where)
    figures.expect(not world.leftovers(), f"{where}: {world.leftovers()} are left over")


def _run_beside_another(
    world: World, server: ScenarioProcess, capped: tuple[str, ...]
) -> Finished:
    """Run the command while another one for a single item begins and ends, then once
    more alone.
    """
    before = len(server.ledger.admitted())
    one = (*(part for part in capped if part != "--all"), "--ids", "1")
    with world.start(*capped) as running:
        market.wait_calls(server, running, before + 1)
        world.run(*one)
        running.finish()
    return world.run(*capped)


def _kill(
    figures: Figures,
    world: World,
    server: ScenarioProcess,
    rng: random.Random,
    capped: tuple[str, ...],
) -> bool:
    """Kill a run while it spends; False when it had ended by then."""
    before = len(server.ledger.admitted())
    with world.start(*capped) as running:
        market.wait_calls(server, running, before + rng.randint(1, FITTING))
        running.ends_within(rng.uniform(0, 4 * LATENCY))
        if running.process.poll() is not None:
            return False
        running.signal(SIGKILL)
    figures.add("kills")
    where = f"kill {figures.values['kills']}"
    figures.expect("Traceback" not in running.text, f"{where}: {running.text[-2000:]}")
    figures.expect_none(wait_deserted(world, 5.0), where)
    market.wait_settled(server)
    return True


def _check_bill(figures: Figures, server: ScenarioProcess, where: str) -> None:
    bill = server.ledger.bill()
    figures.raise_to("highest_bill", bill)
    figures.expect(
        bill <= CAP, f"{where}: the bill is {bill:.4f} and the cap {CAP:.4f}"
    )


def _check_out_of_money(
    figures: Figures, world: World, finished: Finished, where: str
) -> None:
    figures.expect(
        finished.code == OUT_OF_MONEY,
        f"{where}: ended with {finished.code}: {finished.text[-2000:]}",
    )
    if finished.code != OUT_OF_MONEY:
        return
    items = market.read_summaries(world)[-1]["items"]
    ends = {(entry["status"], entry["class"]) for entry in items}
    allowed = {
        ("approved", None),
        ("failed", "budget"),
        ("not-started", None),
        ("interrupted", None),
    }
    figures.expect(
        ("failed", "budget") in ends and ends <= allowed,
        f"{where}: items ended as {ends}",
    )
    told = finished.stderr.count("the cap of $")
    figures.expect(
        told >= 1,
        f"{where}: nobody said that the cap is reached: {finished.stderr[-1000:]}",
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 30))
