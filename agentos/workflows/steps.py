"""Steps of a workflow as nodes of its graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from langgraph.runtime import Runtime

from agentos.workflows.flow import Observe

Update = dict[str, Any]
"""What a step changes of the state."""


class Observed(Protocol):
    """What steps get from outside the state; it hears of each step."""

    @property
    def observe(self) -> Observe: ...


def as_node(name: str, step: Callable[[Any, Any], Awaitable[Update]]) -> Any:
    """Return the step as a node that says when it begins and ends."""

    async def node(state: Any, runtime: Runtime[Any]) -> Update:
        context: Observed = runtime.context
        context.observe("started", name)
        update = await step(state, context)
        context.observe("finished", name)
        return update

    return node
