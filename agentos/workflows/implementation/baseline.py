"""The repository's suite as it is without an item: run once for a commit and an environment, however many items ask."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import make_private_directory, read_regular, write_atomically
from agentos.proofs.runs import TestRun
from agentos.queueing import in_turn

BASELINES = ".baselines"
_LARGEST = 100_000_000
_MOST_KEPT = 20


async def find_or_run(place: Path, run: Callable[[], Awaitable[TestRun]], say: Callable[[str], None]) -> TestRun:
    """Return the run that is kept at a place, or have it run while all others wait; only a valid one is kept."""
    if kept := _read(place):
        return kept
    make_private_directory(place.parent)
    async with in_turn(place.with_suffix(".lock"), lambda: say("waiting for another item that runs the suite first")):
        if kept := _read(place):
            return kept
        made = await run()
        if made.is_valid:
            write_atomically(place, json.dumps(made.as_data()).encode())
            _forget_oldest(place.parent)
        return made


def _read(place: Path) -> TestRun | None:
    try:
        return TestRun.from_data(json.loads(read_regular(place, _LARGEST)))
    except (BadInput, ValueError, KeyError, TypeError):
        return None


def _forget_oldest(folder: Path) -> None:
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)[:-_MOST_KEPT]:
        path.unlink(missing_ok=True)
