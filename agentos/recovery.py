"""Finish, or take back, what a kill cut short; whoever calls holds the item's lock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos import checkpoints, locks, scratch
from agentos.artefacts import Publication, Targets
from agentos.errors import BadInput
from agentos.files import remove_tree
from agentos.home import Home, ItemPaths
from agentos.places import document_path, lineage_path
from agentos.records import Record, read_record, write_record
from agentos.task import ENDED, Outcome, Task


@dataclass(frozen=True, slots=True)
class Recovered:
    """An item whose end a kill had kept from being recorded."""

    outcome: Outcome
    digest: str
    artefact: str


def targets_of(task: Task) -> Targets:
    """Return where the files of an item go."""
    return Targets(lineage_path(task.workflow, task.item), document_path(task.workflow, task.item))


def recover(task: Task, paths: ItemPaths, repository: Path, run: str, temporary: Path) -> Recovered | None:
    """Roll a committed publication forward and record it; take an uncommitted one back."""
    publication = Publication.find(paths.staging, repository, targets_of(task))
    if publication is None or not publication.is_committed:
        if publication is not None:
            publication.abandon()
        remove_tree(paths.staging)
        return None
    publication.publish()
    outcome = publication.outcome
    record = Record.of(
        task, outcome, digest=publication.digest, artefact=publication.result, run=run, attempts=0, seconds=0.0
    )
    write_record(paths.record, record, temporary)
    forget_work(paths)
    return Recovered(outcome, publication.digest, publication.result)


def forget_work(paths: ItemPaths) -> None:
    """Remove the staged files and the checkpoint of an item whose end is recorded."""
    remove_tree(paths.staging)
    checkpoints.discard(paths.checkpoint)


def tidy(home: Home, key: str, repository: Path, run: str = "") -> None:
    """Look through the state of one repository for what killed runs have left; what somebody holds is left alone."""
    if not home.temporary.is_dir():
        return
    scratch.sweep(home.temporary)
    own = scratch.Scratch(home.temporary)
    try:
        for task in home.tasks_with_state(key):
            paths = home.item(key, task)
            try:
                lock = locks.try_acquire(paths.lock)
                if lock is None:
                    continue
                try:
                    _tidy_item(task, paths, repository, run, own.fresh())
                finally:
                    lock.release()
            except (OSError, BadInput):
                # Whatever is in the way is told when the item is run.
                continue
    finally:
        own.close()


def _tidy_item(task: Task, paths: ItemPaths, repository: Path, run: str, temporary: Path) -> None:
    recover(task, paths, repository, run, temporary)
    record = read_record(paths.record)
    if record is None or record.state not in ENDED or not paths.checkpoint.exists():
        return
    # A checkpoint of a newer input is work in progress and stays.
    if checkpoints.input_of(paths.checkpoint) in (record.digest, ""):
        checkpoints.discard(paths.checkpoint)
