"""The items that have state here, wherever their texts are."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from agentos.backlog.inbox import Collected, Source
from agentos.backlog.inbox.directory import item_order
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.paths import answers_path
from agentos.state.home import Home, repository_key
from agentos.state.records import read_record


class RememberedInbox:
    """Items that were taken from any source before.

    The source is not asked again, so a text counts as unchanged until it is answered.
    """

    def __init__(
        self,
        home: Home,
        repository: Path,
        workflow: Kind,
        seen: Container[str] = (),
    ) -> None:
        self._home = home
        self._repository = repository
        self._key = repository_key(repository)
        self._workflow = workflow
        self._seen = seen
        """Ids, in lower case, that are listed elsewhere."""

    def collect(self) -> Collected:
        """List the items that have a record, a checkpoint or a lock, except those whose
        file was deleted.
        """
        folder = f"{self._workflow.record.inputs}/"
        found = []
        for item in self._home.items_with_state(self._key, ended=True):
            is_seen = item.id.casefold() in self._seen
            if is_seen or item.kind is not self._workflow:
                continue
            record = read_record(self._home.item(self._key, item).record)
            source = record.source if record is not None else ""
            if not source.startswith(folder):
                found.append(replace(item, source=source))
        return Collected(tuple(sorted(found, key=item_order)))

    def load(self, item: Item) -> Source:
        """Return the hash of the item without its text, which is elsewhere."""
        name = item.source or item.label
        problem = f"{name}: its text is not kept here"
        return Source("", self.digest(item), problem)

    def digest(self, item: Item) -> str:
        """Return the hash of the input that the last result is for; empty if the item
        was answered since.
        """
        path = self._home.item(self._key, item).record
        record = read_record(path)
        answers = self._repository / answers_path(item.kind, item.id)
        if record is None or _is_newer(answers, path):
            return ""
        return record.digest


def _is_newer(path: Path, other: Path) -> bool:
    try:
        return path.lstat().st_mtime_ns > other.lstat().st_mtime_ns
    except OSError:
        return False
