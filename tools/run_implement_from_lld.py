#!/usr/bin/env python3
"""Turn approved designs into branches with tested code."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentos.cli.main import build_parser, run_command
from agentos.item import Item
from agentos.kinds import Kind

PROG = "run_implement_from_lld.py"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `implement-workflow` under the name of this script."""
    return run_command("implement", PROG, argv)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line of this script."""
    parser = build_parser("implement", PROG)
    return parser.parse(sys.argv[1:] if argv is None else argv)


def collect_pending_llds(input_dir: Path) -> list[Item]:
    """Return the approved designs of a repository that are not implemented yet."""
    from agentos.cli.workflow import collect_pending

    return collect_pending(input_dir, Kind.IMPLEMENTATION)


if __name__ == "__main__":
    sys.exit(main())
