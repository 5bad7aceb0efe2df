"""Which items of a batch wait for which others, which wait for something else, and which wait for themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.documents.dependencies import Dependency, read_dependencies
from agentos.inbox import Collected, Inbox, LookUp, Reject, Whereabouts
from agentos.plan.order import find_cycles, longest_chain, trace_cycles
from agentos.plan.selection import Ledger, Selection
from agentos.task import State, Task

Read = Callable[[Task], Sequence[Dependency]]

_GLANCE = 32_768
_HINTS = (b"depend", b"blocked by", b"prerequisite")
_SHOWN = 8
UNASKED = "was not fetched, so it is not known whether it is done"
_UNAPPROVED = {
    State.FAILED: "failed",
    State.NEEDS_REVISION: "needs revision",
    State.NEEDS_DISCUSSION: "needs discussion",
}


@dataclass(frozen=True, slots=True)
class After:
    """One item that starts after another."""

    position: int
    other: int
    said: str
    is_binding: bool = True
    """Whether it cannot start at all unless the other one has succeeded."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the tasks of a selection, known by their positions, wait for."""

    after: tuple[After, ...] = ()
    held: Mapping[int, str] = field(default_factory=dict)
    """Those that cannot start whatever the others do, and why."""
    warnings: tuple[str, ...] = ()
    whereabouts: Mapping[str, Whereabouts] = field(default_factory=dict)
    """What the source said about items that are waited for and were not collected."""
    depends: Mapping[int, frozenset[Task]] = field(default_factory=dict)
    """For each position the items that it says it depends on, also those that are done or were not chosen."""
    builds_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each item those whose finished work it has to contain: they change the same files, or it depends on them."""

    @property
    def needs(self) -> dict[int, list[int]]:
        """Return the positions that each waits for."""
        needs: dict[int, list[int]] = {}
        for pair in self.after:
            needs.setdefault(pair.position, []).append(pair.other)
        return needs

    @property
    def loose(self) -> frozenset[tuple[int, int]]:
        """Return the pairs in which the first only waits for the second to end, however that may be."""
        return frozenset((pair.position, pair.other) for pair in self.after if not pair.is_binding)

    def chain(self, total: int) -> int:
        """Return how many items at the most have to run one after the other."""
        return longest_chain(total, self.needs)


def refer(item: str) -> str:
    """Name an item as people do in a text: `#12`, or its name."""
    return f"#{item}" if item.isdigit() else item


class Names:
    """Find the item that a text means: by its id, or by the name of its file."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {_stem(task.source).casefold(): task for task in tasks}
        self._tasks |= {task.item.casefold(): task for task in tasks}

    def find(self, item: str) -> Task | None:
        """Return the item, None when there is none."""
        return self._tasks.get(item.casefold())


def _stem(source: str) -> str:
    return source.rpartition("/")[2].removesuffix(".md")


def arrange(
    selection: Selection,
    collected: Collected,
    read: Read,
    ledger: Ledger,
    *,
    is_named: bool,
    look_up: LookUp | None = None,
) -> tuple[Selection, Order]:
    """Refuse what waits for itself and put the rest in order; `is_named` says that the user chose the items by id.

    `look_up` asks about items that are waited for and were not collected.
    """
    stated = {position: found for position, task in enumerate(selection.tasks) if (found := read(task))}
    if not stated:
        return selection, Order()
    names = Names([*collected.tasks, *(reject.task for reject in collected.rejects)])
    selection, stated = _refuse_cycles(selection, stated, names)
    positions = {task: position for position, task in enumerate(selection.tasks)}
    refused = {reject.task for reject in selection.rejects}
    whereabouts = _ask(selection, stated, names, ledger, look_up) if look_up is not None else {}
    after: list[After] = []
    depends: dict[int, set[Task]] = {}
    held: dict[int, str] = {}
    warnings: list[str] = []
    for position, found in stated.items():
        for dependency in found:
            task = selection.tasks[position]
            other = names.find(dependency.item)
            if other is None:
                state = whereabouts.get(dependency.item)
                if state is Whereabouts.UNASKED:
                    warnings.append(f"{task.label}: {dependency.said}, which {UNASKED}; going on without it")
                if state is not Whereabouts.OPEN:
                    continue
                other = replace(task, item=dependency.item, source="")
            depends.setdefault(position, set()).add(other)
            if other in positions:
                after.append(After(position, positions[other], dependency.said))
            elif other in refused:
                held.setdefault(position, f"waits for {refer(other.item)}, which was refused")
            elif not ledger.has_document(other):
                trouble = _unapproved(other, ledger)
                if trouble and not is_named:
                    held.setdefault(position, f"waits for {refer(other.item)}, which {trouble}")
                else:
                    pending = trouble or "is pending and not selected"
                    warnings.append(f"{task.label}: {dependency.said}, which {pending}; going on without it")
    return selection, Order(
        tuple(after), held, tuple(warnings), whereabouts, {place: frozenset(found) for place, found in depends.items()}
    )


def _ask(
    selection: Selection,
    stated: Mapping[int, Sequence[Dependency]],
    names: Names,
    ledger: Ledger,
    look_up: LookUp,
) -> Mapping[str, Whereabouts]:
    """Have the items looked up that are waited for, were not collected, and have no document here that says enough."""
    missing = dict.fromkeys(
        dependency.item
        for position, found in stated.items()
        for dependency in found
        if names.find(dependency.item) is None
        and not ledger.has_document(replace(selection.tasks[position], item=dependency.item))
    )
    return look_up(missing) if missing else {}


def _unapproved(task: Task, ledger: Ledger) -> str:
    record = ledger.record(task)
    return _UNAPPROVED.get(record.state, "") if record is not None else ""


def _refuse_cycles(
    selection: Selection, stated: dict[int, Sequence[Dependency]], names: Names
) -> tuple[Selection, dict[int, Sequence[Dependency]]]:
    """Make a reject of every item that waits for itself; positions are then those of what remains."""
    tasks = selection.tasks
    reasons = dict(describe_cycles(tasks, stated, names))
    if not reasons:
        return selection, stated
    kept = [position for position in range(len(tasks)) if position not in reasons]
    rejects = tuple(Reject(tasks[position], reason) for position, reason in sorted(reasons.items()))
    selection = replace(
        selection, tasks=tuple(tasks[position] for position in kept), rejects=(*selection.rejects, *rejects)
    )
    return selection, {new: stated[old] for new, old in enumerate(kept) if old in stated}


def describe_cycles(
    tasks: Sequence[Task], stated: Mapping[int, Sequence[Dependency]], names: Names
) -> Iterator[tuple[int, str]]:
    """Give the position of every item that waits for itself, with the way on which it does."""
    positions = {task: position for position, task in enumerate(tasks)}
    needs: dict[int, list[int]] = {}
    for position, found in stated.items():
        others = (names.find(dependency.item) for dependency in found)
        needs[position] = [positions[other] for other in others if other in positions]
    for group in find_cycles(needs):
        for position, way in trace_cycles(needs, group).items():
            steps = [refer(tasks[step].item) for step in way]
            if len(steps) > _SHOWN:
                steps = [*steps[: _SHOWN - 2], f"... {len(steps) - _SHOWN + 1} more ...", steps[-1]]
            name = Path(tasks[position].source).name
            yield position, f"{name}: depends on itself: {' -> '.join(steps)}; take one of these dependencies out"


def reader(repository: Path, inbox: Inbox, ours: str = "") -> Read:
    """Return what reads the dependencies of an item; most items have none, and a glance at the bytes tells.

    `ours` is the `owner/name` by which texts may call the repository that the items are of.
    """

    def read(task: Task) -> Sequence[Dependency]:
        if not _may_depend(f"{repository}/{task.source}"):
            return ()
        return read_dependencies(inbox.load(task).text, ours)

    return read


def _may_depend(path: str) -> bool:
    """Tell whether a file may state a dependency; what is long or cannot be read here is for the inbox to judge."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            data = os.read(descriptor, _GLANCE).lower()
        finally:
            os.close(descriptor)
    except OSError:
        return True
    return len(data) == _GLANCE or any(hint in data for hint in _HINTS)
