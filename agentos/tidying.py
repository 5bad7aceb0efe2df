"""Remove what killed runs have left of items that had ended already."""

from __future__ import annotations

import re
from pathlib import Path

from agentos import checkpoints, locks
from agentos.artefacts import Publication
from agentos.errors import BadInput
from agentos.files import list_names, remove_tree
from agentos.home import Home, ItemPaths
from agentos.records import read_record
from agentos.task import ENDED, Task, Workflow

_NAME = re.compile(r"(issue|lld)(?:_workflow)?_([A-Za-z0-9_-]{1,64}?)(?:\.lock|\.db(?:-wal|-shm|-journal)?)?")


def tidy(home: Home, key: str, repository: Path) -> None:
    """Look through the state of one repository; what somebody holds, or has yet to finish, is left alone."""
    if not home.temporary.is_dir():
        return
    home.sweep_temporary()
    for task in sorted(_mentioned(home, key), key=lambda task: task.label):
        paths = home.item(key, task)
        try:
            lock = locks.try_acquire(paths.lock)
        except OSError:
            continue
        if lock is None:
            continue
        try:
            record = read_record(paths.record)
            if record is not None and record.state in ENDED:
                _remove_leftovers(paths, repository, record.digest)
        except (OSError, BadInput):
            # Whatever is in the way is told when the item is run.
            continue
        finally:
            lock.release()


def _remove_leftovers(paths: ItemPaths, repository: Path, digest: str) -> None:
    """Remove what belongs to the input that has ended; work on a newer input is not touched."""
    publication = Publication.find(paths.staging, repository)
    if publication is None:
        remove_tree(paths.staging)
    elif publication.digest == digest:
        if publication.is_committed:
            publication.publish()
        else:
            publication.abandon()
        remove_tree(paths.staging)
    if paths.checkpoint.exists() and checkpoints.input_of(paths.checkpoint) in (digest, ""):
        checkpoints.discard(paths.checkpoint)


def _mentioned(home: Home, key: str) -> set[Task]:
    """Return the items of which there is a checkpoint, a staging folder or a lock file."""
    found = set()
    for folder in ("checkpoints", "staging", "locks"):
        for name in list_names(home.root / folder / key):
            if match := _NAME.fullmatch(name):
                found.add(Task(Workflow(match[1]), match[2], ""))
    return found
