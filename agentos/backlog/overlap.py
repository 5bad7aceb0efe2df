"""Run designs that change the same files one after the other, each on top of the
previous one; all others run in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agentos.backlog.dependencies import After, Order
from agentos.backlog.inbox import Inbox
from agentos.backlog.order import ReadyQueue
from agentos.backlog.selection import Selection
from agentos.documents.lld import parse_lld
from agentos.documents.repository_paths import plain_path
from agentos.item import Item

_MAX_NAMED = 3

Files = frozenset[str]


def arrange_by_files(
    selection: Selection, order: Order, collected: Sequence[Item], inbox: Inbox
) -> Order:
    """Add to the order a pair for each two designs that declare the same file.

    Existing dependencies decide which of the two runs first. `builds_on` covers every
    design in the inbox, as one that was built in an earlier run conflicts just like one
    of this run.
    """
    declared: dict[Item, Files] = {}
    sharers: dict[str, set[Item]] = {}
    for item in collected:
        source = inbox.load(item)
        files = declared_files(source.text)
        declared[item] = files
        for path in files:
            sharers.setdefault(path, set()).add(item)
    places = {item: place for place, item in enumerate(collected)}
    builds_on = {}
    for position, item in enumerate(selection.items):
        others = set(order.depends.get(position, ()))
        for path in declared.get(item, ()):
            others |= sharers[path]
        others.discard(item)
        below = sorted(others & places.keys(), key=places.__getitem__)
        builds_on[item.id] = tuple(other.id for other in below)
    overlaps = _find_overlaps(selection.items, order, declared)
    after = (*order.after, *overlaps)
    return replace(order, after=after, builds_on=builds_on)


def declared_files(design: str) -> Files:
    """Return the files that a design declares in section 2.1, as plain paths."""
    paths = set()
    for change in parse_lld(design).files:
        if not change.path:
            continue
        path = plain_path(change.path)
        paths.add(path)
    return frozenset(paths)


def _find_overlaps(
    items: Sequence[Item],
    order: Order,
    declared: Mapping[Item, Files],
) -> Iterator[After]:
    """Yield for each file the chain of designs that declare it, in an order that
    dependencies allow.
    """
    known = set()
    for pair in order.after:
        known.add((pair.position, pair.other))
    last: dict[str, int] = {}
    for position in _sort(len(items), order):
        item = items[position]
        earlier: dict[int, list[str]] = {}
        for path in sorted(declared.get(item, ())):
            if path in last:
                earlier.setdefault(last[path], []).append(path)
            last[path] = position
        for other, paths in sorted(earlier.items()):
            if (position, other) in known:
                continue
            listed = _enumerate(paths)
            reason = f"both change {listed}"
            yield After(position, other, reason, is_binding=False)


def _sort(total: int, order: Order) -> Iterator[int]:
    """Yield the positions so that dependencies come first."""
    queue = ReadyQueue(total, order.needs)
    position = queue.take()
    while position is not None:
        yield position
        queue.finish(position, is_successful=True)
        position = queue.take()


def _enumerate(paths: Sequence[str]) -> str:
    named = paths[:_MAX_NAMED]
    listed = ", ".join(named)
    more = len(paths) - _MAX_NAMED
    if more <= 0:
        return listed
    return f"{listed} and {more} more"
