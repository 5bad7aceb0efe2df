"""Wrap the steps of a kind as nodes of its graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from langgraph.runtime import Runtime

from agentos.workflows.engine.flow import Observe

Update = dict[str, Any]
"""The changes of a step to the state."""


class Observed(Protocol):
    """The context of a step, which is told about each step."""

    @property
    def observe(self) -> Observe: ...


def as_node(
    name: str,
    step: Callable[[Any, Any], Awaitable[Update]],
    continues: Callable[[Any], bool] = lambda _: False,
) -> Any:
    """Return a node that runs the step and reports its start and end; a step that
    `continues` what the one before began says so.
    """

    async def node(state: Any, runtime: Runtime[Any]) -> Update:
        context: Observed = runtime.context
        context.observe("continued" if continues(state) else "started", name)
        update = await step(state, context)
        context.observe("finished", name)
        return update

    return node
