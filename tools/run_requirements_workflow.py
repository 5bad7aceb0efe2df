#!/usr/bin/env python3
"""Run the issue or the LLD workflow over a backlog: `--type issue|lld`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentos.cli.requirements import collect_pending_issues, main, parse_args

__all__ = ["collect_pending_issues", "main", "parse_args"]

if __name__ == "__main__":
    sys.exit(main())
