"""Bring together what a preview knows of a backlog and what triage has to judge of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentos.errors import UsageError
from agentos.inbox.directory import DirectoryInbox
from agentos.plan.preview import Options, Preview
from agentos.plan.selection import Ledger
from agentos.task import Task, Workflow
from agentos.triage.backlog import Backlog


def sight(options: Options, preview: Preview, *, most: int | None = None) -> Backlog:
    """Return the items of a selection with all that they are compared with, the items not selected first.

    With `most`, no more items than that are read at all.
    """
    collected = preview.collected
    rejected = {reject.task for reject in collected.rejects}
    wanted = {*preview.selection.tasks, *(reject.task for reject in preview.selection.rejects)} - rejected
    tasks = [task for task in collected.tasks if task in wanted][:most]
    others = [task for task in collected.tasks if task not in wanted]
    if most is not None:
        others = others[: most - len(tasks)]
    return Backlog(
        tasks=tasks,
        known=[*others, *tasks],
        names=[*collected.tasks, *(reject.task for reject in collected.rejects)],
        rejects=[reject for reject in preview.selection.rejects if reject.task in rejected],
        load=preview.inbox.load,
        ours=options.source.partition(":")[2],
        is_elsewhere=_elsewhere(options.workflow, preview.ledger, options.repository),
        whereabouts=preview.order.whereabouts,
    )


def _elsewhere(workflow: Workflow, ledger: Ledger, repository: Path) -> Callable[[str], bool]:
    """Return what tells whether an item is known by its document, or, to a brief, as an issue."""
    issues: set[str] | None = None

    def is_known(item: str) -> bool:
        nonlocal issues
        if ledger.has_document(Task(workflow, item, "")):
            return True
        if workflow is not Workflow.ISSUE:
            return False
        if issues is None:
            try:
                issues = {task.item.casefold() for task in DirectoryInbox(repository, Workflow.LLD).collect().tasks}
            except UsageError:
                issues = set()
        return item.casefold() in issues

    return is_known
