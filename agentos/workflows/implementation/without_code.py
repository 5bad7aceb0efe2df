"""Run an item's tests without its code while a model writes that code.

If the item changes a single file, this run is the same as one with that file reverted,
so validation does not have to repeat it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from agentos.workflows.implementation import accepting, proving
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState, Scaffold
from agentos.workflows.implementation.workspace import Workspace

T = TypeVar("T")


def is_wanted(state: ImplementationState, blueprint: Blueprint) -> bool:
    """Tell whether the run may be useful and is not known from the red proof."""
    return (
        len(blueprint.provable) == 1
        and not state["iterations"]
        and not state.get("bare")
    )


async def run_beside(
    asking: Awaitable[T], workspace: Workspace, scaffold: Scaffold, snapshot: str
) -> tuple[T, dict[str, Any]]:
    """Run the tests while the model answers; return the answer, and the run, which is
    empty unless it ended first.
    """
    running = asyncio.ensure_future(_run(workspace, scaffold))
    try:
        answer = await asking
    finally:
        running.cancel()
        results = await asyncio.gather(running, return_exceptions=True)
    await workspace.restore(snapshot)
    run = results[0]
    return answer, run if isinstance(run, dict) else {}


async def _run(workspace: Workspace, scaffold: Scaffold) -> dict[str, Any]:
    run = await workspace.test(accepting.selection(scaffold))
    run = proving.own_tests(run, scaffold)
    return proving.as_state(run) if run.is_valid else {}
