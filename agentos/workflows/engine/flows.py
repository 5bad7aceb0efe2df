"""Find the flow of a kind of work.

Each flow is imported on demand, so that a package with prompts and rules does not load
the graph library.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from agentos.kinds import Kind

if TYPE_CHECKING:
    from agentos.workflows.engine.flow import Flow


@cache
def flow_of(kind: Kind) -> Flow:
    """Return the flow of a kind."""
    return cast("Flow", import_module(kind.record.package).make_flow())
