"""Where and how the items of a run are built."""

from __future__ import annotations

from agentos.plan.preview import Options, Preview
from agentos.task import Task
from agentos.workshop import Workshop


def workshop_of(options: Options, preview: Preview, task: Task) -> Workshop | None:
    """Return what an item needs to be built; None for those that are only written about."""
    if not options.builds:
        return None
    return Workshop(
        worktree=str(preview.home.worktree(preview.key, task.item)),
        environments=str(preview.home.root / "environments"),
        builds_on=preview.order.builds_on.get(task.item, ()),
        coverage_target=options.coverage_target,
        test_timeout=options.test_timeout,
        stops_after_tests=options.scaffold_only,
    )
