"""The `lld-workflow` command."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.cli.entry import die_quietly_on_ctrl_c


def main(argv: Sequence[str] | None = None) -> int:
    """Turn issues into designs."""
    die_quietly_on_ctrl_c()
    from agentos.cli.workflow import main as run_workflow
    from agentos.task import Workflow

    return run_workflow(Workflow.LLD, "lld-workflow", argv)
