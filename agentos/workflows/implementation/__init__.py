"""Turn an approved design into a branch with tested code. Begin with `graph.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentos.workflows.engine.flow import Flow


def make_flow() -> Flow:
    """Return the flow that builds a design."""
    from agentos.workflows.implementation.flow import Implementation

    return Implementation()
