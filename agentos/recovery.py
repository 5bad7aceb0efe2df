"""Finish, or take back, what a kill cut short; whoever calls holds the item's lock."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from agentos import checkpoints, locks, scratch
from agentos.artefacts import Publication
from agentos.errors import BadInput
from agentos.home import Home, ItemPaths
from agentos.places import document_path, paper_folders
from agentos.records import Record, read_record
from agentos.task import Task, Workflow


def publication_of(task: Task, paths: ItemPaths, repository: Path) -> Publication:
    """Return the way of an item's files into its repository."""
    # The path of its checkpoint is of this item, this repository and this home alone.
    mark = hashlib.sha256(os.fsencode(paths.checkpoint)).hexdigest()[:16]
    document = "" if task.workflow is Workflow.IMPLEMENTATION else document_path(task.workflow, task.item)
    return Publication(str(repository), paper_folders(task.workflow, task.item), document, mark)


def recover(publication: Publication, paths: ItemPaths) -> Record | None:
    """Roll a recorded publication forward and return its record; take one back that was not recorded."""
    if not publication.is_prepared:
        return None
    record = read_record(paths.record)
    if record is None or not record.outcome.is_decided:
        publication.abandon()
        return None
    publication.reveal(record.artefact, record.superseded)
    checkpoints.discard(paths.checkpoint)
    return record


def tidy(home: Home, key: str, repository: Path) -> None:
    """Look through the state of one repository for what killed runs have left; what somebody holds is left alone."""
    if not home.temporary.is_dir():
        return
    scratch.sweep(home.temporary)
    for task in home.tasks_with_state(key):
        paths = home.item(key, task)
        try:
            lock = locks.try_acquire(paths.lock)
            if lock is None:
                continue
            try:
                _tidy_item(task, paths, repository)
            finally:
                lock.release()
        except (OSError, BadInput):
            # Whatever is in the way is told when the item is run.
            continue


def _tidy_item(task: Task, paths: ItemPaths, repository: Path) -> None:
    recover(publication_of(task, paths, repository), paths)
    record = read_record(paths.record)
    if record is None or not record.outcome.is_decided or not paths.checkpoint.exists():
        return
    # A checkpoint of a newer input is work in progress and stays.
    if checkpoints.input_of(paths.checkpoint) in (record.digest, ""):
        checkpoints.discard(paths.checkpoint)
