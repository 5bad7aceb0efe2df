"""The workflows there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from agentos.task import Workflow
from agentos.workflows.flow import Flow

FLOWS: Mapping[Workflow, str] = {
    Workflow.ISSUE: "agentos.workflows.issue",
    Workflow.LLD: "agentos.workflows.lld",
    Workflow.IMPLEMENTATION: "agentos.workflows.implementation",
}


def flow_of(workflow: Workflow) -> Flow:
    """Return what tells this workflow from the others."""
    flow: Flow = import_module(FLOWS[workflow]).FLOW
    return flow
