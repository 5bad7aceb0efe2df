"""The items of which something is known here, wherever their texts are."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from agentos.home import Home, repository_key
from agentos.inbox import Collected, Source
from agentos.inbox.directory import FOLDERS, item_order
from agentos.places import answers_path
from agentos.records import read_record
from agentos.task import Task, Workflow


class RememberedInbox:
    """What was taken from any source before; nobody is asked, so a text counts as unchanged until it is answered."""

    def __init__(self, home: Home, repository: Path, workflow: Workflow, seen: Container[str] = ()) -> None:
        self._home = home
        self._repository = repository
        self._key = repository_key(repository)
        self._workflow = workflow
        self._seen = seen
        """Ids, in lower case, that are listed otherwise."""

    def collect(self) -> Collected:
        """List the items that have a record, a checkpoint or a lock, but not those whose file is gone."""
        folder = f"{FOLDERS[self._workflow]}/"
        found = []
        for task in self._home.tasks_with_state(self._key, ended=True):
            if task.workflow is self._workflow and task.item.casefold() not in self._seen:
                record = read_record(self._home.item(self._key, task).record)
                found.append(replace(task, source=record.source if record is not None else ""))
        return Collected(tuple(sorted((t for t in found if not t.source.startswith(folder)), key=item_order)))

    def load(self, task: Task) -> Source:
        """Return the hash that the item had; its text is elsewhere."""
        return Source("", self.digest(task), f"{task.source or task.label}: its text is not kept here")

    def digest(self, task: Task) -> str:
        """Return the hash of the input that the item's last end belongs to, empty when an answer came since."""
        path = self._home.item(self._key, task).record
        record = read_record(path)
        if record is None or _is_newer(self._repository / answers_path(task.workflow, task.item), path):
            return ""
        return record.digest


def _is_newer(path: Path, other: Path) -> bool:
    try:
        return path.lstat().st_mtime_ns > other.lstat().st_mtime_ns
    except OSError:
        return False
