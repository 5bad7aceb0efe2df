"""Kill the coordinator with -9 while a server counts: only calls under way are asked
twice, and the summary says so.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults import evidence, market
from tests.faults.figures import Figures, main
from tests.faults.market import CALLS_AN_ITEM, Sent, command
from tests.faults.scene import make_world, wait_deserted
from tests.scenario import Entry, ScenarioProcess
from tests.support import SIGKILL, World, wait_until

ITEMS = 8
KILLS_A_WORLD = 4
LATENCY = 0.3
WORKER_KILLS_EVERY = 10
LONG = 2.0
UNREAD = 2.0
"""Seconds that an answer may have been on its way to a coordinator that has not stored
it yet.
"""
SCRIPT = {
    "latency": LATENCY,
    "tokens_per_second": 10_000,
    "price_input": market.PRICE_INPUT,
    "price_output": market.PRICE_OUTPUT,
}


@dataclass(frozen=True)
class Kill:
    """When a coordinator was killed and what its journal then held as under way."""

    clock: float
    under_way: Sequence[Sent]


def measure(seed: int, count: int, folder: Path, items: int = ITEMS) -> Figures:
    """Kill so many times, over as many worlds as it takes; every tenth time kill a
    worker too.
    """
    begun = {
        "kills": 0,
        "worlds": 0,
        "under_way_at_a_kill": 0,
        "asked_again": 0,
        "stated": 0,
        "never_arrived": 0,
    }
    figures = Figures("billing", seed, count, begun)
    rng = random.Random(seed)
    known = market.undisturbed(items)
    while figures.values["kills"] < count:
        figures.add("worlds")
        _torment(
            figures, folder / f"world-{figures.values['worlds']}", rng, known, items
        )
    for number in range(1, max(1, count // WORKER_KILLS_EVERY) + 1):
        _kill_worker(figures, folder / f"worker-{number}", rng, retries=number % 2)
    return figures


def _torment(
    figures: Figures,
    folder: Path,
    rng: random.Random,
    known: dict[str, str],
    items: int,
) -> None:
    world = make_world(folder, items)
    where = f"world {figures.values['worlds']}"
    with ScenarioProcess(SCRIPT, folder / "server") as server:
        market.write_keys(world, server.url, market.default_keys())
        kills: list[Kill] = []
        for _ in range(min(KILLS_A_WORLD, figures.count - figures.values["kills"])):
            kill = _kill(figures, world, server, rng, items)
            if kill is None:
                break
            kills.append(kill)
        finished = world.run(*command())
        ledger = server.ledger
    figures.expect(
        finished.code == 0,
        f"{where}: ended with {finished.code}: {finished.text[-2000:]}",
    )
    figures.expect_none(_unexplained(ledger.admitted(), kills), where)
    if not (world.run_folders[-1] / "summary.json").exists():
        # The last kill came when all was done and only the summary was missing.
        figures.add("killed_before_the_summary")
        return
    figures.expect_none(evidence.end_problems(world, known, items), where)
    repeated = sum(times - 1 for times in ledger.repeated().values())
    stated = market.stated_repeats(market.read_summaries(world)[-1])
    told = (
        stated
        if "Nothing to do" in finished.stdout
        else market.told_repeats(finished.stdout)
    )
    never_arrived = _count_never_arrived(ledger.admitted(), kills)
    figures.expect(
        stated == told, f"{where}: {stated} in summary.json, {told} in the text"
    )
    figures.expect(
        stated == repeated + never_arrived,
        f"{where}: the summary says {stated} were asked again; the server saw {repeated} twice, and {never_arrived} "
        f"never reached it the first time",
    )
    figures.expect(
        len(ledger.admitted()) == CALLS_AN_ITEM * items + repeated,
        f"{where}: calls are missing",
    )
    figures.add("under_way_at_a_kill", sum(len(kill.under_way) for kill in kills))
    for name, number in (
        ("asked_again", repeated),
        ("stated", stated),
        ("never_arrived", never_arrived),
    ):
        figures.add(name, number)


def _kill(
    figures: Figures,
    world: World,
    server: ScenarioProcess,
    rng: random.Random,
    items: int,
) -> Kill | None:
    """Start the command and kill it at a random moment; None when it had ended by
    then.
    """
    before = len(server.ledger.admitted())
    with world.start(*command()) as running:
        if rng.random() < 0.1:
            running.ends_within(rng.uniform(0, 3.0))
        elif market.wait_calls(server, running, before + rng.randint(1, items)):
            running.ends_within(rng.uniform(0, 1.5 * LATENCY))
        if running.process.poll() is not None:
            return None
        running.signal(SIGKILL)
        running.process.wait()
        clock = time.monotonic()
    figures.add("kills")
    where = f"kill {figures.values['kills']}"
    figures.expect("Traceback" not in running.text, f"{where}: {running.text[-2000:]}")
    figures.expect_none(wait_deserted(world, 5.0), where)
    market.wait_settled(server)
    return Kill(clock, market.sent_calls(world, running.pid))


def _unexplained(admitted: Sequence[Entry], kills: Sequence[Kill]) -> list[str]:
    """Tell which calls were asked again though no kill had cut them off, or more than
    once after one kill.
    """
    problems = []
    runs = [_before(admitted, kills, number) for number in range(len(kills) + 1)]
    for number, run in enumerate(runs, start=1):
        twice = [
            asked
            for asked, times in Counter((e.item, e.purpose) for e in run).items()
            if times > 1
        ]
        problems += [f"{asked} was asked twice by run {number}" for asked in twice]
    for number, kill in enumerate(kills):
        lost = {(sent.item, sent.purpose) for sent in kill.under_way}
        for entry in runs[number]:
            asked = (entry.item, entry.purpose)
            is_asked_again = any(
                (e.item, e.purpose) == asked for run in runs[number + 1 :] for e in run
            )
            was_read = (
                entry.done_clock is not None and entry.done_clock < kill.clock - UNREAD
            )
            if is_asked_again and (asked not in lost or was_read):
                problems.append(
                    f"{asked} was asked again and was not under way at kill {number + 1}"
                )
    return problems


def _count_never_arrived(admitted: Sequence[Entry], kills: Sequence[Kill]) -> int:
    """Count the calls that were written down before a kill and had not reached the
    server yet.
    """
    lost = 0
    for number, kill in enumerate(kills):
        arrived = {
            (entry.item, entry.purpose) for entry in _before(admitted, kills, number)
        }
        lost += sum((sent.item, sent.purpose) not in arrived for sent in kill.under_way)
    return lost


def _before(
    admitted: Sequence[Entry], kills: Sequence[Kill], number: int
) -> list[Entry]:
    """Return the calls of the run that ended with that kill, or of the last run."""
    start = kills[number - 1].clock if number else 0.0
    end = kills[number].clock if number < len(kills) else float("inf")
    return [entry for entry in admitted if start <= entry.clock < end]


def _kill_worker(
    figures: Figures, folder: Path, rng: random.Random, retries: int
) -> None:
    """Kill a worker that waits for its answer: the item is tried again at once, or
    alone by the next run.
    """
    items = 3 if retries else 1
    world = make_world(folder, items)
    where = f"a worker killed in mid-call, {retries} retries"
    with ScenarioProcess({**SCRIPT, "latency": LONG}, folder / "server") as server:
        market.write_keys(world, server.url, market.default_keys())
        with world.start(*command("--retries", str(retries))) as running:
            market.wait_calls(server, running, rng.randint(1, items))
            wait_until(lambda: bool(running.workers()), "a worker has work")
            rng.choice(running.workers()).kill()
            finished = running.finish()
        if not retries:
            figures.expect(
                finished.code == 1,
                f"{where}: ended with {finished.code}: {finished.text[-2000:]}",
            )
            finished = world.run(*command())
        ledger = server.ledger
    figures.add("workers_killed")
    figures.expect(
        finished.code == 0,
        f"{where}: ended with {finished.code}: {finished.text[-2000:]}",
    )
    asked = len(ledger.admitted())
    figures.expect(
        asked == items * CALLS_AN_ITEM and not ledger.repeated(),
        f"{where}: {asked} calls were made",
    )
    stated = [
        market.stated_repeats(summary) for summary in market.read_summaries(world)
    ]
    figures.expect(
        not any(stated), f"{where}: the summaries say {stated} calls were asked again"
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 100))
