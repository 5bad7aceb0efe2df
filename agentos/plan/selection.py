"""Decide which items a run takes, by what is known of each on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from agentos.errors import UsageError
from agentos.files import list_names
from agentos.home import Home
from agentos.inbox import Collected, Inbox, Reject
from agentos.places import document_path
from agentos.plan.standing import is_complete
from agentos.records import Record, read_record
from agentos.task import ENDED, State, Task, Workflow
from agentos.workflows.parallel.input_sanitizer import sanitize_identifier


class Standing(StrEnum):
    """How an item stands before a run."""

    NEW = "new"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    EDITED = "edited"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which items the user named."""

    everything: bool = False
    ids: tuple[str, ...] = ()
    retry_failed: bool = False
    skip_failed: bool = False
    redo: bool = False
    """Whether items that are complete are run again."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run takes and what it leaves."""

    tasks: tuple[Task, ...]
    rejects: tuple[Reject, ...] = ()
    counts: dict[Standing, int] = field(default_factory=dict)
    edited: tuple[Task, ...] = ()
    unfiled: int = 0
    """How many of the tasks are complete and have only to be filed."""

    def describe(self) -> str:
        """Say it as `7 already complete, 3 resumed, 0 new`."""
        said = {
            Standing.COMPLETE: "already complete",
            Standing.INTERRUPTED: "resumed",
            Standing.NEW: "new",
            Standing.FAILED: "retried",
            Standing.EDITED: "restarted after an edit",
        }
        always = (Standing.COMPLETE, Standing.INTERRUPTED, Standing.NEW)
        parts = [
            f"{self.counts.get(standing, 0)} {words}"
            for standing, words in said.items()
            if standing in always or self.counts.get(standing)
        ]
        if self.unfiled:
            parts[0] += f" ({self.unfiled} to be filed)"
        return ", ".join(parts)


class Ledger:
    """What is known on disk of the items of one repository; only ever read here."""

    def __init__(self, home: Home, repository: Path, key: str, inbox: Inbox) -> None:
        self._home = home
        self._repository = repository
        self._key = key
        self._inbox = inbox
        # Two listings instead of two look-ups an item: most of ten thousand items have neither file.
        self._records = list_names(home.root / "items" / key)
        self._checkpoints = list_names(home.root / "checkpoints" / key)
        self._documents = frozenset[str]().union(
            *(list_names(repository / folder) for folder in ("docs/lld/active", "docs/lld/done", "docs/issues"))
        )
        self._reports = list_names(repository / "docs/reports")
        self.seconds: list[float] = []
        """How long the complete items that were looked at took."""

    def record(self, task: Task) -> Record | None:
        """Return how the item ended last."""
        if not self._records:
            return None
        path = self._home.item(self._key, task).record
        return read_record(path) if path.name in self._records else None

    def has_document(self, task: Task) -> bool:
        """Tell whether the item's finished document is there, whoever wrote it."""
        if task.workflow is Workflow.IMPLEMENTATION:
            return task.item in self._reports
        return bool(self._documents) and Path(document_path(task.workflow, task.item)).name in self._documents

    def has_failed(self, task: Task) -> bool:
        """Tell whether the item's last end was a failure, also when its input was mended since."""
        record = self.record(task)
        return record is not None and record.state is State.FAILED

    def standing(self, task: Task) -> Standing:
        """Tell how the item stands."""
        record = self.record(task)
        has_checkpoint = (
            bool(self._checkpoints) and self._home.item(self._key, task).checkpoint.name in self._checkpoints
        )
        if record is None and has_checkpoint:
            return Standing.INTERRUPTED
        if record is None and not self.has_document(task):
            return Standing.NEW
        digest = self._inbox.digest(task)
        if record is None:
            return Standing.COMPLETE if is_complete(task, None, digest, self._repository) else Standing.NEW
        if record.digest != digest:
            return Standing.EDITED
        if is_complete(task, record, digest, self._repository):
            self.seconds.append(record.seconds)
            return Standing.COMPLETE
        if record.state in ENDED:
            return Standing.NEW
        if record.state is State.FAILED:
            return Standing.FAILED
        return Standing.INTERRUPTED if has_checkpoint else Standing.NEW


def normalise_id(text: str, workflow: Workflow) -> str:
    """Check an id from outside; a label such as `LLD-42` means its item, and a number has no leading zeros."""
    item = sanitize_identifier(text)
    if item.upper().startswith(f"{workflow.prefix}-"):
        item = item[len(workflow.prefix) + 1 :]
    return str(int(item)) if item.isdigit() else item


def select(
    collected: Collected,
    choice: Choice,
    ledger: Ledger,
    place: str | Path,
    is_unfiled: Callable[[Task], bool] | None = None,
) -> Selection:
    """Choose the items of a run; refuse ids that are not there before anything starts.

    `is_unfiled` tells of a complete item whether it has something to do all the same.
    """
    tasks: Sequence[Task] = collected.tasks
    rejects = collected.rejects
    if not choice.everything:
        wanted = set(choice.ids)
        tasks = [task for task in tasks if task.item in wanted]
        rejects = tuple(reject for reject in (*rejects, *collected.unready) if reject.task.item in wanted)
        if missing := wanted - {task.item for task in tasks} - {reject.task.item for reject in rejects}:
            raise UsageError(
                f"no such item in {place}: {', '.join(sorted(missing))}; see --all --dry-run for what there is"
            )
    standings = [(task, ledger.standing(task)) for task in tasks]
    if choice.retry_failed:
        standings = [(task, standing) for task, standing in standings if ledger.has_failed(task)]
        rejects = ()
    elif choice.skip_failed:
        standings = [(task, standing) for task, standing in standings if standing is not Standing.FAILED]
        rejects = ()
    complete = [task for task, standing in standings if standing is Standing.COMPLETE and not choice.redo]
    unfiled = {task for task in complete if is_unfiled is not None and is_unfiled(task)}
    left = set(complete) - unfiled
    return Selection(
        tasks=tuple(task for task, _ in standings if task not in left),
        rejects=rejects,
        counts=_count(standing for _, standing in standings),
        edited=tuple(task for task, standing in standings if standing is Standing.EDITED),
        unfiled=len(unfiled),
    )


def _count(standings: Iterable[Standing]) -> dict[Standing, int]:
    counts: dict[Standing, int] = {}
    for standing in standings:
        counts[standing] = counts.get(standing, 0) + 1
    return counts
