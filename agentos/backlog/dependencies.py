"""Find which items of a run wait for others, are blocked, or depend on themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.backlog.inbox import Collected, Inbox, LookUp, Reject, SourceState
from agentos.backlog.inbox.directory import stem_of
from agentos.backlog.order import find_cycles, longest_chain, trace_cycles
from agentos.backlog.selection import ItemIndex, Selection
from agentos.documents.dependencies import Dependency, read_dependencies
from agentos.item import Item, State

Dependencies = Sequence[Dependency]
Read = Callable[[Item], Dependencies]
Stated = Mapping[int, Dependencies]
"""The dependencies that the text of the item at each position states."""
Answers = Mapping[str, SourceState]
"""What the source said about items, by their ids."""
NeedLists = dict[int, list[int]]
"""The positions that each position waits for."""

_PROBE_FLAGS = os.O_RDONLY | os.O_NONBLOCK
_PROBE_FLAGS |= os.O_NOFOLLOW | os.O_CLOEXEC
_PROBE_BYTES = 32_768
_HINTS = (b"depend", b"blocked by", b"prerequisite")
_MAX_STEPS = 8
UNASKED = "was not fetched, so it is not known whether it is done"
_UNAPPROVED = {
    State.FAILED: "failed",
    State.NEEDS_REVISION: "needs revision",
    State.NEEDS_DISCUSSION: "needs discussion",
    State.SKELETON: "is only a skeleton",
    State.SIMULATED: "was only simulated",
}


@dataclass(frozen=True, slots=True)
class After:
    """One item that starts after another."""

    position: int
    other: int
    said: str
    is_binding: bool = True
    """Whether it can only start if the other one succeeds."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the items of a selection wait for; items are given by position."""

    after: tuple[After, ...] = ()
    blocked: Mapping[int, str] = field(default_factory=dict)
    """Items that cannot start whatever the others do, and why."""
    warnings: tuple[str, ...] = ()
    whereabouts: Answers = field(default_factory=dict)
    """What the source said about dependencies that were not collected."""
    depends: Mapping[int, Set[Item]] = field(default_factory=dict)
    """The stated dependencies of each position, including those that are complete or
    not selected.
    """
    builds_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each item those whose branches it must contain: they change the same files,
    or it depends on them.
    """

    @property
    def needs(self) -> NeedLists:
        """The positions that each position waits for."""
        needs: NeedLists = {}
        for pair in self.after:
            others = needs.setdefault(pair.position, [])
            others.append(pair.other)
        return needs

    @property
    def loose(self) -> frozenset[tuple[int, int]]:
        """The pairs in which the first only waits for the second to end, not to
        succeed.
        """
        pairs = set()
        for pair in self.after:
            if pair.is_binding:
                continue
            pairs.add((pair.position, pair.other))
        return frozenset(pairs)

    def chain(self, total: int) -> int:
        """Return the maximum number of items that have to run one after the other."""
        return longest_chain(total, self.needs)


def refer(item: str) -> str:
    """Return an item as people refer to it: `#12`, or its name."""
    if item.isdigit():
        return f"#{item}"
    return item


class Names:
    """Find an item by its id or by the name of its file."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._by_file: dict[str, Item] = {}
        self._by_id: dict[str, Item] = {}
        for item in items:
            _, _, name = item.source.rpartition("/")
            stem = stem_of(name)
            file_key = stem.casefold()
            self._by_file[file_key] = item
            id_key = item.id.casefold()
            self._by_id[id_key] = item

    def find(self, name: str) -> Item | None:
        """Return the item, None if there is none."""
        key = name.casefold()
        if key in self._by_id:
            return self._by_id[key]
        return self._by_file.get(key)


def arrange(
    selection: Selection,
    collected: Collected,
    read: Read,
    index: ItemIndex,
    *,
    is_named: bool,
    look_up: LookUp | None = None,
) -> tuple[Selection, Order]:
    """Reject items that depend on themselves and order the rest.

    `is_named` says that the user chose the items by id. `look_up` asks the source about
    dependencies that were not collected.
    """
    stated = {}
    for position, item in enumerate(selection.items):
        found = read(item)
        if found:
            stated[position] = found
    if not stated:
        return selection, Order()
    rejected = [reject.item for reject in collected.rejects]
    names = Names([*collected.items, *rejected])
    selection, acyclic = _reject_cycles(selection, stated, names)
    whereabouts: Answers = {}
    if look_up is not None:
        missing = _find_missing(
            selection,
            acyclic,
            names,
            index,
        )
        if missing:
            whereabouts = look_up(missing)
    arranger = _Arranger(
        selection=selection,
        index=index,
        names=names,
        whereabouts=whereabouts,
        is_named=is_named,
    )
    for position, found in acyclic.items():
        for dependency in found:
            arranger.add(position, dependency)
    return selection, arranger.to_order()


class _Arranger:
    """Collect what the stated dependencies mean for a selection."""

    def __init__(
        self,
        selection: Selection,
        index: ItemIndex,
        names: Names,
        whereabouts: Answers,
        *,
        is_named: bool,
    ) -> None:
        self._items = selection.items
        self._index = index
        self._names = names
        self._whereabouts = whereabouts
        self._is_named = is_named
        self._positions = _positions_of(selection.items)
        self._rejected: set[Item] = set()
        for reject in selection.rejects:
            self._rejected.add(reject.item)
        self._after: list[After] = []
        self._depends: dict[int, set[Item]] = {}
        self._blocked: dict[int, str] = {}
        self._warnings: list[str] = []

    def add(self, position: int, dependency: Dependency) -> None:
        """Take one dependency of the item at a position."""
        other = self._find(position, dependency)
        if other is None:
            return
        others = self._depends.setdefault(position, set())
        others.add(other)
        if other in self._positions:
            place = self._positions[other]
            pair = After(position, place, dependency.said)
            self._after.append(pair)
        elif other in self._rejected:
            self._block(position, other, "was refused")
        elif self._is_pending(other):
            state = self._describe_end(other)
            if not state:
                self._warn(position, dependency, "is pending and not selected")
            elif self._is_named:
                self._warn(position, dependency, state)
            else:
                self._block(position, other, state)

    def to_order(self) -> Order:
        """Return the order of everything that was added."""
        return Order(
            tuple(self._after),
            self._blocked,
            tuple(self._warnings),
            self._whereabouts,
            self._depends,
        )

    def _find(self, position: int, dependency: Dependency) -> Item | None:
        """Return the item that is meant, None if there is nothing to wait for."""
        known = self._names.find(dependency.item)
        if known is not None:
            return known
        state = self._whereabouts.get(dependency.item)
        if state is SourceState.UNASKED:
            self._warn(position, dependency, UNASKED)
        if state is not SourceState.OPEN:
            return None
        item = self._items[position]
        return replace(item, id=dependency.item, source="")

    def _is_pending(self, item: Item) -> bool:
        if self._index.is_pending_document(item):
            return True
        return not self._index.has_document(item)

    def _describe_end(self, item: Item) -> str:
        """Return how an item ended without approval, empty if it has not been run."""
        record = self._index.record(item)
        if record is None:
            return ""
        return _UNAPPROVED.get(record.state, "")

    def _block(self, position: int, other: Item, reason: str) -> None:
        name = refer(other.id)
        text = f"waits for {name}, which {reason}"
        self._blocked.setdefault(position, text)

    def _warn(self, position: int, dependency: Dependency, state: str) -> None:
        label = self._items[position].label
        self._warnings.append(
            f"{label}: {dependency.said}, which {state}; continuing without it"
        )


def _positions_of(items: Sequence[Item]) -> dict[Item, int]:
    return {item: position for position, item in enumerate(items)}


def _find_missing(
    selection: Selection,
    stated: Stated,
    names: Names,
    index: ItemIndex,
) -> list[str]:
    """Return the dependencies that were not collected and have no document here."""
    missing: dict[str, None] = {}
    for position, found in stated.items():
        for dependency in found:
            id = dependency.item
            if names.find(id) is not None:
                continue
            item = selection.items[position]
            other = replace(item, id=id)
            if not index.has_document(other):
                missing[id] = None
    return list(missing)


def _reject_cycles(
    selection: Selection,
    stated: Stated,
    names: Names,
) -> tuple[Selection, Stated]:
    """Reject every item that depends on itself, and number the rest anew."""
    cycles = describe_cycles(selection.items, stated, names)
    reasons = dict(cycles)
    if not reasons:
        return selection, stated
    items: list[Item] = []
    rejects = list(selection.rejects)
    renumbered = {}
    for position, item in enumerate(selection.items):
        if position in reasons:
            reject = Reject(item, reasons[position])
            rejects.append(reject)
            continue
        if position in stated:
            renumbered[len(items)] = stated[position]
        items.append(item)
    kept = tuple(items)
    refused = tuple(rejects)
    selection = replace(selection, items=kept, rejects=refused)
    return selection, renumbered


def describe_cycles(
    items: Sequence[Item],
    stated: Stated,
    names: Names,
) -> Iterator[tuple[int, str]]:
    """Yield the position of every item that depends on itself, and a message with the
    path back to it.
    """
    positions = _positions_of(items)
    needs: NeedLists = {}
    for position, found in stated.items():
        needs[position] = []
        for dependency in found:
            other = names.find(dependency.item)
            if other not in positions:
                continue
            place = positions[other]
            needs[position].append(place)
    for group in find_cycles(needs):
        paths = trace_cycles(needs, group)
        for position, path in paths.items():
            steps = []
            for step in path:
                name = refer(items[step].id)
                steps.append(name)
            way = _join_steps(steps)
            item = items[position]
            file_name = Path(item.source).name
            reason = f"{file_name}: depends on itself: {way}; take one of these dependencies out"
            yield position, reason


def _join_steps(steps: list[str]) -> str:
    """Return the steps of a path with arrows, without the middle of a long path."""
    hidden = len(steps) - _MAX_STEPS + 1
    if hidden > 1:
        note = f"... {hidden} more ..."
        steps[_MAX_STEPS - 2 : -1] = [note]
    return " -> ".join(steps)


def reader(repository: Path, inbox: Inbox, ours: str = "") -> Read:
    """Return a function that reads the dependencies of an item.

    `ours` is the `owner/name` by which texts may refer to their own repository.
    """

    def read(item: Item) -> Dependencies:
        path = f"{repository}/{item.source}"
        if not _may_depend(path):
            return ()
        source = inbox.load(item)
        return read_dependencies(source.text, ours)

    return read


def _may_depend(path: str) -> bool:
    """Return False for a file that surely states no dependency.

    Most items have none, and searching a few bytes is much faster than parsing. Files
    that are long or unreadable are left to the inbox.
    """
    try:
        descriptor = os.open(path, _PROBE_FLAGS)
        try:
            data = os.read(descriptor, _PROBE_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        return True
    if len(data) == _PROBE_BYTES:
        return True
    text = data.lower()
    return any(hint in text for hint in _HINTS)
