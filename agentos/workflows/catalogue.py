"""The workflows there are, by name.

Nothing is imported before it is asked for: a package of prompts and rules must not bring the graph library with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from agentos.task import Workflow

if TYPE_CHECKING:
    from agentos.workflows.flow import Flow

KINDS: Mapping[Workflow, str] = {
    Workflow.ISSUE: "agentos.workflows.issue",
    Workflow.LLD: "agentos.workflows.lld",
}
"""Where the kinds of drafting workflows are."""


@cache
def flow_of(workflow: Workflow) -> Flow:
    """Return what the runner has to know of a workflow."""
    if workflow is Workflow.IMPLEMENTATION:
        from agentos.workflows.implementation.flow import Implementation

        return Implementation()
    from agentos.workflows.drafting.flow import Drafting

    return Drafting(import_module(KINDS[workflow]).KIND)
