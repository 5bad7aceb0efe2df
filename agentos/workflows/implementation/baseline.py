"""Run the repository's suite without the item, once for each commit and environment."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.runners.runs import TestRun
from agentos.state.files import make_private_directory, read_regular, write_atomically
from agentos.state.lock_queue import wait_for_lock

BASELINES = ".baselines"
_LARGEST = 100_000_000
_MOST_KEPT = 20


async def find_or_run(
    path: Path, run: Callable[[], Awaitable[TestRun]], say: Callable[[str], None]
) -> TestRun:
    """Return the run stored at a path, or run the suite while other items wait; store
    only a valid run.
    """
    stored = _read(path)
    if stored:
        return stored
    make_private_directory(path.parent)

    def say_waiting() -> None:
        say("waiting for another item that runs the suite first")

    async with wait_for_lock(path.with_suffix(".lock"), say_waiting):
        stored = _read(path)
        if stored:
            return stored
        result = await run()
        if result.is_valid:
            write_atomically(path, json.dumps(result.as_data()).encode())
            _remove_oldest(path.parent)
        return result


def _read(path: Path) -> TestRun | None:
    try:
        data = json.loads(read_regular(path, _LARGEST))
        return TestRun.from_data(data)
    except (BadInput, ValueError, KeyError, TypeError):
        return None


def _remove_oldest(folder: Path) -> None:
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in paths[:-_MOST_KEPT]:
        path.unlink(missing_ok=True)
