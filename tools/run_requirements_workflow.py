#!/usr/bin/env python3
"""Run the issue or the LLD workflow over a backlog: `--type issue|lld`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentos.cli.main import build_parser, run_command
from agentos.item import Item
from agentos.kinds import Kind

PROG = "run_requirements_workflow.py"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the workflow that `--type` names."""
    return run_command("requirements", PROG, argv)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line of this script."""
    parser = build_parser("requirements", PROG)
    return parser.parse(sys.argv[1:] if argv is None else argv)


def collect_pending_issues(input_dir: Path) -> list[Item]:
    """Return the issues of a repository that have no complete design yet."""
    from agentos.cli.workflow import collect_pending

    return collect_pending(input_dir, Kind.LLD)


if __name__ == "__main__":
    sys.exit(main())
