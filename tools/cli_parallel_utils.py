"""Run tasks in parallel from a script: arguments, configuration, execution."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentos.cli.workflow import add_parallel_arguments
from agentos.item import Item
from agentos.workflows.parallel.coordinator import ParallelCoordinator

__all__ = [
    "ParallelConfig",
    "add_parallel_arguments",
    "create_parallel_config",
    "display_dry_run_summary",
    "execute_tasks_parallel",
]


@dataclass(frozen=True, slots=True)
class ParallelConfig:
    """How many tasks run at a time, and whether they run at all."""

    max_workers: int
    dry_run: bool


def create_parallel_config(args: argparse.Namespace) -> ParallelConfig:
    """Return the configuration that parsed arguments ask for."""
    return ParallelConfig(max_workers=args.parallel or 1, dry_run=args.dry_run)


def execute_tasks_parallel(
    items: Sequence[Item], config: ParallelConfig, task_executor: Callable[[Item], Any]
) -> dict[str, Any]:
    """Run a function over tasks; return counts, the ids that failed and an exit code."""
    coordinator = ParallelCoordinator(config.max_workers)
    stats, results = coordinator.execute_parallel(
        items,
        lambda item, _: task_executor(item),
        lambda item: item.label,
        dry_run=config.dry_run,
    )
    failures = {
        result.item_id: result.error for result in results if not result.success
    }
    unfinished = coordinator.get_checkpoints()
    return {
        "total": stats.total,
        "completed": stats.completed,
        "success_count": stats.success_count,
        "failed": failures,
        "unfinished": unfinished,
        "exit_code": 130 if unfinished else 1 if failures else 0,
    }


def display_dry_run_summary(items: Sequence[Item], workflow_name: str) -> None:
    """Print the tasks that would run."""
    print(
        f"Dry run mode: {len(items)} {workflow_name} items would be processed, nothing"
        " was started"
    )
    for item in items:
        print(f"  {item.label}  {item.source}")
