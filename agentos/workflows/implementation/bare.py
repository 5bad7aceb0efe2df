"""What an item's tests show without its code: found out while a model writes that code, which takes longer.

It is what they show when the one file that the item changes is taken back, so nothing has to be run for that later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from agentos.errors import ItemError
from agentos.workflows.implementation import proving, taking
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState, Scaffold
from agentos.workflows.implementation.workbench import Workbench

T = TypeVar("T")


def is_wanted(state: ImplementationState, blueprint: Blueprint) -> bool:
    """Tell whether it may be of use, and is not known from the proof of red."""
    return len(blueprint.provable) == 1 and not state["iterations"] and not state.get("bare")


async def run_beside(asking: Awaitable[T], bench: Workbench, scaffold: Scaffold, at: str) -> tuple[T, dict[str, Any]]:
    """Return an answer, and what the tests showed meanwhile on a snapshot without the code."""
    running = asyncio.ensure_future(_run(bench, scaffold, at))
    try:
        return await asking, await running
    finally:
        running.cancel()
        await asyncio.wait([running])


async def _run(bench: Workbench, scaffold: Scaffold, at: str) -> dict[str, Any]:
    try:
        run = await bench.test(taking.selection(scaffold))
        await bench.restore(at)
    except ItemError:
        # Nobody depends on this run; if there is something wrong, the next one will say so.
        return {}
    return proving.as_state(proving.own_tests(run, scaffold))
