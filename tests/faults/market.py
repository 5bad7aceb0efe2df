"""Where answers are paid for: a server that counts every call, keys that lead to it,
and a command that asks it.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.faults.scene import make_world
from tests.scenario import ScenarioProcess
from tests.support import PATIENCE, Running, World

PRICE_INPUT, PRICE_OUTPUT = 3.0, 15.0
PRICES = (PRICE_INPUT, PRICE_OUTPUT)
DRAFTER, REVIEWER = "openai:drafting-1", "gemini:reviewing-1"
CALLS_AN_ITEM = 2
PURPOSES = {"N1_design": "lld.draft", "N3_review": "lld.review"}
_PATHS = {"openai": "/v1"}
_ASKED_AGAIN = re.compile(r"(\d+) (?:was|were) interrupted by a kill and asked again")


@dataclass(frozen=True)
class Sent:
    """A call that the journal holds as sent and without an answer."""

    item: str
    purpose: str


def write_keys(world: World, url: str, entries: Iterable[Mapping[str, Any]]) -> None:
    """Write a key file; every entry leads to the server."""
    world.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = []
    for entry in entries:
        told = {**entry, "base_url": url + _PATHS.get(entry["provider"], "")}
        lines += [
            "[[key]]",
            *(f"{name} = {json.dumps(value)}" for name, value in told.items()),
            "",
        ]
    path = world.home / "keys.toml"
    path.touch(mode=0o600)
    path.write_text("\n".join(lines), "utf-8")


def default_keys(max_parallel: int = 8) -> list[dict[str, Any]]:
    """Return two keys of each of the two providers."""
    return [
        {
            "provider": provider,
            "key": f"market-{provider}-{number}",
            "max_parallel": max_parallel,
        }
        for provider in ("openai", "gemini")
        for number in (1, 2)
    ]


def command(
    *more: str, parallel: int = 4, prices: tuple[float, float] = PRICES
) -> tuple[str, ...]:
    """Return a command whose items each ask twice, the drafter and the reviewer of
    another provider.
    """
    price = "/".join(f"{amount:g}" for amount in prices)
    return (
        *(
            "lld-workflow",
            "--all",
            "--parallel",
            str(parallel),
            "--drafter",
            DRAFTER,
            "--reviewer",
            REVIEWER,
        ),
        *("--price", f"{DRAFTER}={price}", "--price", f"{REVIEWER}={price}"),
        *more,
    )


@cache
def undisturbed(items: int) -> dict[str, str]:
    """Return the artefacts of a run against the server that nothing happened to."""
    with tempfile.TemporaryDirectory(prefix="agentos-undisturbed-") as folder:
        world = make_world(Path(folder), items)
        with ScenarioProcess({}, Path(folder) / "server") as server:
            write_keys(world, server.url, default_keys())
            finished = world.run(*command())
            assert finished.code == 0, finished.text
            assert len(server.ledger.admitted()) == CALLS_AN_ITEM * items, finished.text
        return world.artefacts()


def wait_calls(server: ScenarioProcess, running: Running, admitted: int) -> bool:
    """Wait until the server has admitted so many calls; False when the command has
    ended before.
    """
    deadline = time.monotonic() + PATIENCE
    while len(server.ledger.admitted()) < admitted:
        assert time.monotonic() < deadline, running.text
        if running.process.poll() is not None:
            return False
        time.sleep(0.01)
    return True


def wait_settled(server: ScenarioProcess) -> None:
    """Wait until the server has noted the end of every answer, also of those whose
    caller is gone.
    """
    deadline = time.monotonic() + PATIENCE
    while not all(entry.is_done for entry in server.ledger.admitted()):
        assert time.monotonic() < deadline, server.ledger.admitted()
        time.sleep(0.01)


def read_journal(world: World, query: str) -> list[tuple[Any, ...]]:
    """Query a copy of the journal; an empty list where there is none."""
    return _read_copy(world.home / "journal.db", query)


def read_pool(world: World, query: str) -> list[tuple[Any, ...]]:
    """Query a copy of the state of the keys; an empty list where there is none."""
    return _read_copy(world.home / "pool.db", query)


def _read_copy(source: Path, query: str) -> list[tuple[Any, ...]]:
    """Query a copy of a database, its log included."""
    if not source.exists():
        return []
    with tempfile.TemporaryDirectory(prefix="agentos-look-") as scratch:
        for companion in ("", "-wal"):
            if (path := source.with_name(source.name + companion)).exists():
                shutil.copyfile(path, Path(scratch) / path.name)
        with closing(sqlite3.connect(Path(scratch) / source.name)) as database:
            return list(database.execute(query))


def sent_calls(world: World, pid: int) -> list[Sent]:
    """Return the calls that a process that is gone had under way."""
    rows = read_journal(
        world, f"SELECT item, node FROM calls WHERE state = 'sent' AND pid = {pid}"
    )
    return [Sent(item.rpartition("/")[2], PURPOSES[node]) for item, node in rows]


def read_summaries(world: World) -> list[dict[str, Any]]:
    """Return the summaries of all runs that came to write one."""
    paths = [folder / "summary.json" for folder in world.run_folders]
    return [json.loads(path.read_bytes()) for path in paths if path.exists()]


def stated_repeats(summary: Mapping[str, Any]) -> int:
    """Return how many calls a summary says were asked again."""
    return int(summary["calls"]["asked_again_after_a_kill"])


def told_repeats(text: str) -> int:
    """Return how many calls the summary for people says were asked again."""
    found = _ASKED_AGAIN.search(text)
    return int(found[1]) if found else 0
