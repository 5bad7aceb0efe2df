"""The `issue-workflow` command."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.cli.workflow import main as run_workflow
from agentos.task import Workflow


def main(argv: Sequence[str] | None = None) -> int:
    """Turn briefs into issues."""
    return run_workflow(Workflow.ISSUE, "issue-workflow", argv)
