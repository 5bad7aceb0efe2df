"""The `lld-workflow` command."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.cli.workflow import main as run_workflow
from agentos.task import Workflow


def main(argv: Sequence[str] | None = None) -> int:
    """Turn issues into designs."""
    return run_workflow(Workflow.LLD, "lld-workflow", argv)
