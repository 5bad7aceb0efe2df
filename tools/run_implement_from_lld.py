#!/usr/bin/env python3
"""Turn approved designs into branches with tested code."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentos.cli.implement import collect_pending_llds, parse_args
from agentos.cli.implement import script_main as main

__all__ = ["collect_pending_llds", "main", "parse_args"]

if __name__ == "__main__":
    sys.exit(main())
