"""The workflows there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from agentos.task import Workflow
from agentos.workflows.kind import Kind

KINDS: Mapping[Workflow, str] = {
    Workflow.ISSUE: "agentos.workflows.issue",
    Workflow.LLD: "agentos.workflows.lld",
}


def kind_of(workflow: Workflow) -> Kind:
    """Return what tells this workflow from the others."""
    kind: Kind = import_module(KINDS[workflow]).KIND
    return kind
