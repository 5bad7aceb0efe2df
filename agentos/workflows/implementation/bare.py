"""What an item's tests show without its code: found out while a model writes that code, which takes longer.

It is what they show when the one file that the item changes is taken back, so nothing has to be run for that later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from agentos.workflows.implementation import proving, taking
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState, Scaffold
from agentos.workflows.implementation.workbench import Workbench

T = TypeVar("T")


def is_wanted(state: ImplementationState, blueprint: Blueprint) -> bool:
    """Tell whether it may be of use, and is not known from the proof of red."""
    return len(blueprint.provable) == 1 and not state["iterations"] and not state.get("bare")


async def run_beside(asking: Awaitable[T], bench: Workbench, scaffold: Scaffold, at: str) -> tuple[T, dict[str, Any]]:
    """Return an answer, and what the tests showed meanwhile: nothing if they took longer, for no answer waits."""
    running = asyncio.ensure_future(_run(bench, scaffold))
    try:
        answer = await asking
    finally:
        running.cancel()
        shown = (await asyncio.gather(running, return_exceptions=True))[0]
    await bench.restore(at)
    return answer, shown if isinstance(shown, dict) else {}


async def _run(bench: Workbench, scaffold: Scaffold) -> dict[str, Any]:
    run = proving.own_tests(await bench.test(taking.selection(scaffold)), scaffold)
    return proving.as_state(run) if run.is_valid else {}
