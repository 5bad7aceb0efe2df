"""The shared parallel functions of the package, for scripts in this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentos.cli.parallel import (
    ParallelConfig,
    add_parallel_arguments,
    create_parallel_config,
    display_dry_run_summary,
    execute_tasks_parallel,
)

__all__ = [
    "ParallelConfig",
    "add_parallel_arguments",
    "create_parallel_config",
    "display_dry_run_summary",
    "execute_tasks_parallel",
]
