"""The parallel part of a command line, for every tool that runs tasks: arguments, configuration, execution."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentos.settings import read_whole
from agentos.task import Task
from agentos.workflows.parallel.coordinator import ParallelCoordinator


@dataclass(frozen=True, slots=True)
class ParallelConfig:
    """How tasks are to be run."""

    max_workers: int
    dry_run: bool


def add_parallel_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--parallel [N]` and `--dry-run` to a parser."""
    parser.add_argument(
        "--parallel",
        nargs="?",
        const=ParallelCoordinator.DEFAULT_PARALLELISM,
        default=None,
        type=_read_parallel,
        metavar="N",
        help="workflows at a time: 1 without this flag, 3 without N, at most 10 (more is capped with a warning)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list what would be run, with an estimate, and touch nothing"
    )


def create_parallel_config(args: argparse.Namespace) -> ParallelConfig:
    """Return the configuration that parsed arguments ask for; without the flag, one at a time."""
    return ParallelConfig(max_workers=args.parallel or 1, dry_run=args.dry_run)


def execute_tasks_parallel(
    tasks: Sequence[Task], config: ParallelConfig, task_executor: Callable[[Task], Any]
) -> dict[str, Any]:
    """Run a function over tasks and return counts, the ids that failed, and an exit code."""
    coordinator = ParallelCoordinator(config.max_workers)
    stats, results = coordinator.execute_parallel(
        tasks, lambda task, _: task_executor(task), lambda task: task.label, dry_run=config.dry_run
    )
    failures = {result.item_id: result.error for result in results if not result.success}
    unfinished = coordinator.get_checkpoints()
    return {
        "total": stats.total,
        "completed": stats.completed,
        "success_count": stats.success_count,
        "failed": failures,
        "unfinished": unfinished,
        "exit_code": 130 if unfinished else 1 if failures else 0,
    }


def display_dry_run_summary(tasks: Sequence[Task], workflow_name: str) -> None:
    """Print what would be run."""
    print(f"Dry run mode: {len(tasks)} {workflow_name} items would be processed, nothing was started")
    for task in tasks:
        print(f"  {task.label}  {task.source}")


def _read_parallel(text: str) -> int:
    try:
        return read_whole(1)(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
