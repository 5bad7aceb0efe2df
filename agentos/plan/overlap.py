"""Put designs that change the same files one after the other, each on top of those before it; the rest is parallel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agentos.documents.lld import parse_lld
from agentos.documents.repository_paths import plain_path
from agentos.inbox import Inbox
from agentos.plan.dependence import After, Order
from agentos.plan.order import ReadyQueue
from agentos.plan.selection import Selection
from agentos.task import Task

_NAMED_FILES = 3


def arrange_by_files(selection: Selection, order: Order, collected: Sequence[Task], inbox: Inbox) -> Order:
    """Return the order with an edge between designs that declare the same file, the earlier one first.

    Dependencies stay as they are, and decide which of two is the earlier. `builds_on` is told of every design in the
    inbox, for one that was built before is as much in the way as one that is about to be.
    """
    declared = {task: declared_files(inbox.load(task).text) for task in collected}
    positions = {task: position for position, task in enumerate(selection.tasks)}
    after = [*order.after, *_overlaps(selection.tasks, order, declared)]
    places = {task: place for place, task in enumerate(collected)}
    sharers: dict[str, list[Task]] = {}
    for task, paths in declared.items():
        for path in paths:
            sharers.setdefault(path, []).append(task)
    builds_on = {}
    for task in selection.tasks:
        below = order.depends.get(positions[task], frozenset()) & places.keys()
        below |= {other for path in declared.get(task, ()) for other in sharers[path]}
        builds_on[task.item] = tuple(other.item for other in sorted(below - {task}, key=places.__getitem__))
    return replace(order, after=tuple(after), builds_on=builds_on)


def declared_files(design: str) -> frozenset[str]:
    """Return the files that a design declares in section 2.1, as plain paths."""
    return frozenset(plain_path(change.path) for change in parse_lld(design).files if change.path)


def _overlaps(tasks: Sequence[Task], order: Order, declared: Mapping[Task, frozenset[str]]) -> Iterator[After]:
    """Give for each file the chain of those that declare it, in an order that dependencies allow."""
    pairs = {(pair.position, pair.other) for pair in order.after}
    last: dict[str, int] = {}
    for position in _topological(len(tasks), order):
        task = tasks[position]
        earlier: dict[int, list[str]] = {}
        for path in sorted(declared.get(task, ())):
            if path in last:
                earlier.setdefault(last[path], []).append(path)
            last[path] = position
        for other, paths in sorted(earlier.items()):
            if (position, other) not in pairs:
                yield After(position, other, f"both change {_name(paths)}", is_binding=False)


def _topological(total: int, order: Order) -> Iterator[int]:
    queue = ReadyQueue(total, order.needs)
    while (position := queue.take()) is not None:
        yield position
        queue.finish(position, is_fulfilled=True)


def _name(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED_FILES
    return ", ".join(paths[:_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
