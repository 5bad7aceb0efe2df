"""Choose the items of a run by their state on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from agentos.backlog.inbox import Collected, Inbox, Reject
from agentos.documents.provenance import SKELETON_STATUS
from agentos.errors import UsageError
from agentos.item import ENDED, Item, State
from agentos.kinds import Kind
from agentos.repository.completion import is_complete, settle, status_for_input
from agentos.repository.paths import document_path
from agentos.state.files import list_names
from agentos.state.home import Home
from agentos.state.records import ItemRecord, read_record
from agentos.workflows.parallel.input_sanitizer import sanitize_identifier


class ItemStatus(StrEnum):
    """The state of an item before a run."""

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
    """Whether complete items are run again."""
    goes_on: bool = False
    """Whether named items are gone on with, even if they are complete."""

    @property
    def takes_complete(self) -> bool:
        """Whether complete items are taken."""
        if self.redo:
            return True
        return self.goes_on and not self.everything


@dataclass(frozen=True, slots=True)
class Selection:
    """The items that a run takes, and what it leaves out."""

    items: tuple[Item, ...]
    rejects: tuple[Reject, ...] = ()
    counts: dict[ItemStatus, int] = field(default_factory=dict)
    edited: tuple[Item, ...] = ()
    unfiled: int = 0
    """Number of items that are complete and only have to be filed."""

    def describe(self) -> str:
        """Return the counts as `7 already complete, 3 resumed, 0 new`."""
        counts = Counter(self.counts)
        complete = f"{counts[ItemStatus.COMPLETE]} already complete"
        if self.unfiled:
            complete += f" ({self.unfiled} to be filed)"
        parts = [
            complete,
            f"{counts[ItemStatus.INTERRUPTED]} resumed",
            f"{counts[ItemStatus.NEW]} new",
        ]
        if counts[ItemStatus.FAILED]:
            parts.append(f"{counts[ItemStatus.FAILED]} retried")
        if counts[ItemStatus.EDITED]:
            parts.append(f"{counts[ItemStatus.EDITED]} restarted after an edit")
        return ", ".join(parts)


class ItemIndex:
    """The state on disk of the items of one repository, read-only."""

    def __init__(
        self,
        home: Home,
        repository: Path,
        key: str,
        inbox: Inbox,
        *,
        redo_skeletons: bool = False,
    ) -> None:
        self._home = home
        self._repository = repository
        self._key = key
        self._inbox = inbox
        self._redo_skeletons = redo_skeletons
        # List folders once instead of checking files for each item: of ten thousand
        # items most have none.
        self._records = list_names(home.root / "items" / key)
        self._checkpoints = list_names(home.root / "checkpoints" / key)
        self._documents: set[str] = set()
        for folder in ("docs/lld/active", "docs/lld/done", "docs/issues"):
            self._documents.update(list_names(repository / folder))
        self._reports = list_names(repository / "docs/reports")
        self.seconds: list[float] = []
        """The durations of the complete items that were looked at."""

    def record(self, item: Item) -> ItemRecord | None:
        """Return the record of the item's last end, if any."""
        if not self._records:
            return None
        path = self._home.item(self._key, item).record
        if path.name not in self._records:
            return None
        record = read_record(path)
        if record is None:
            return None
        return settle(record, self._repository)

    def has_document(self, item: Item) -> bool:
        """Return whether the item's document exists, whoever wrote it."""
        if item.kind.record.builds:
            return item.id in self._reports
        if not self._documents:
            return False
        path = Path(document_path(item.kind, item.id))
        return path.name in self._documents

    def documented_state(self, item: Item) -> State:
        """Return the state of an item that has a document but no record."""
        digest = self._inbox.digest(item)
        status = status_for_input(item, digest, self._repository)
        if status == SKELETON_STATUS:
            return State.SKELETON
        return State.APPROVED

    def is_pending_document(self, item: Item) -> bool:
        """Return whether this run would replace the item's document: a simulated one, or
        a skeleton if a model is asked.
        """
        state = self._last_state(item)
        if state is State.SKELETON:
            return self._redo_skeletons
        return state is State.SIMULATED

    def has_failed(self, item: Item) -> bool:
        """Return whether the item failed last time, even if it was edited since."""
        return self._last_state(item) is State.FAILED

    def _last_state(self, item: Item) -> State | None:
        record = self.record(item)
        return None if record is None else record.state

    def status(self, item: Item) -> ItemStatus:
        """Return the status of the item."""
        record = self.record(item)
        unfinished = ItemStatus.NEW
        if self._has_checkpoint(item):
            unfinished = ItemStatus.INTERRUPTED
        if record is None:
            if unfinished is ItemStatus.NEW and self.has_document(item):
                digest = self._inbox.digest(item)
                if self._is_complete(item, None, digest):
                    return ItemStatus.COMPLETE
            return unfinished
        digest = self._inbox.digest(item)
        if record.digest != digest:
            return ItemStatus.EDITED
        if self._is_complete(item, record, digest):
            self.seconds.append(record.seconds)
            return ItemStatus.COMPLETE
        if record.state is State.APPROVED and self.has_document(item):
            # Its document was edited since.
            return ItemStatus.EDITED
        if record.state in ENDED:
            return ItemStatus.NEW
        if record.state is State.FAILED:
            return ItemStatus.FAILED
        return unfinished

    def _has_checkpoint(self, item: Item) -> bool:
        if not self._checkpoints:
            return False
        path = self._home.item(self._key, item).checkpoint
        return path.name in self._checkpoints

    def _is_complete(self, item: Item, record: ItemRecord | None, digest: str) -> bool:
        return is_complete(
            item,
            record,
            digest,
            self._repository,
            redo_skeletons=self._redo_skeletons,
        )


def normalize_id(text: str, workflow: Kind) -> str:
    """Check an id from outside, remove a label such as `LLD-` and leading zeros."""
    item = sanitize_identifier(text)
    prefix = f"{workflow.record.label}-"
    if item.upper().startswith(prefix):
        item = item[len(prefix) :]
    if item.isdigit():
        return str(int(item))
    return item


def select(
    collected: Collected,
    choice: Choice,
    index: ItemIndex,
    place: str | Path,
    is_unfiled: Callable[[Item], bool] | None = None,
) -> Selection:
    """Choose the items of a run; raise `UsageError` for ids that do not exist.

    `is_unfiled` says whether a complete item still has to be filed.
    """
    items: Sequence[Item] = collected.items
    rejects = collected.rejects
    if not choice.everything:
        items, rejects = _pick(collected, choice.ids, place)
    statuses = {item: index.status(item) for item in items}
    if choice.retry_failed:
        items = list(filter(index.has_failed, items))
    elif choice.skip_failed:
        items = [item for item in items if statuses[item] is not ItemStatus.FAILED]
    if choice.retry_failed or choice.skip_failed:
        rejects = ()
    taken, edited = [], []
    unfiled = 0
    for item in items:
        status = statuses[item]
        if status is ItemStatus.COMPLETE and not choice.takes_complete:
            if is_unfiled is None or not is_unfiled(item):
                continue
            unfiled += 1
        elif status is ItemStatus.EDITED:
            edited.append(item)
        taken.append(item)
    return Selection(
        items=tuple(taken),
        rejects=rejects,
        counts=Counter(statuses[item] for item in items),
        edited=tuple(edited),
        unfiled=unfiled,
    )


def _pick(
    collected: Collected, ids: Sequence[str], place: str | Path
) -> tuple[list[Item], tuple[Reject, ...]]:
    """Return the items and the rejects with some ids."""
    wanted = set(ids)
    found = set()
    items, rejects = [], []
    for item in collected.items:
        if item.id in wanted:
            items.append(item)
            found.add(item.id)
    for reject in collected.rejects + collected.unready:
        id = reject.item.id
        if id in wanted:
            rejects.append(reject)
            found.add(id)
    missing = wanted - found
    if missing:
        listed = ", ".join(sorted(missing))
        raise UsageError(
            f"no such item in {place}: {listed}; see --all --dry-run for what there is"
        )
    return items, tuple(rejects)
