"""The `implement-workflow` command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from agentos.cli.entry import die_quietly_on_ctrl_c
from agentos.task import Task, Workflow

SCRIPT = "run_implement_from_lld.py"


def main(argv: Sequence[str] | None = None) -> int:
    """Turn approved designs into tested code."""
    return _run("implement-workflow", argv)


def script_main(argv: Sequence[str] | None = None) -> int:
    """Do the same for the script that has no place on the PATH."""
    return _run(SCRIPT, argv)


def _run(prog: str, argv: Sequence[str] | None) -> int:
    die_quietly_on_ctrl_c()
    from agentos.cli.workflow import main as run_workflow

    return run_workflow(Workflow.IMPLEMENTATION, prog, argv)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the script's command line."""
    import sys

    from agentos.cli.workflow import build_parser

    return build_parser(Workflow.IMPLEMENTATION, SCRIPT).parse(sys.argv[1:] if argv is None else argv)


def collect_pending_llds(input_dir: Path) -> list[Task]:
    """Return the approved designs in a repository that are not implemented yet."""
    from agentos.cli.requirements import collect_pending

    return collect_pending(input_dir, Workflow.IMPLEMENTATION)
