"""Run designs that change the same files one after the other, each on top of the
previous one; all others run in parallel.

Change logs do not count: a merge joins what several designs add to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentos.backlog.dependencies import After, Order
from agentos.backlog.inbox import Inbox
from agentos.backlog.order import Needs, ReadyQueue
from agentos.backlog.selection import Selection
from agentos.documents.change_logs import is_change_log
from agentos.documents.lld import parse_lld
from agentos.documents.repository_paths import plain_path
from agentos.item import Item

_MAX_NAMED = 3

Files = frozenset[str]
Declarations = dict[Item, Files]
"""The files that each design declares."""
Foundations = dict[str, tuple[str, ...]]
"""For the id of an item, the ids of those whose branches it must contain."""


def arrange_by_files(
    selection: Selection, order: Order, collected: Sequence[Item], inbox: Inbox
) -> Order:
    """Add to the order a pair for each two designs that declare the same file, unless it
    is a change log.

    Existing dependencies decide which of the two runs first. `builds_on` covers every
    design in the inbox, as one that was built in an earlier run conflicts just like one
    of this run.
    """
    declared: Declarations = {}
    for item in collected:
        source = inbox.load(item)
        design = source.text
        files = declared_files(design)
        logs = filter(is_change_log, files)
        others = files.difference(logs)
        declared[item] = others
    items = selection.items
    builds_on = _find_foundations(items, order, declared)
    overlaps = _find_overlaps(items, order, declared)
    after = order.after + tuple(overlaps)
    return replace(order, after=after, builds_on=builds_on)


def declared_files(design: str) -> Files:
    """Return the files that a design declares in section 2.1, as plain paths."""
    paths = set()
    document = parse_lld(design)
    for change in document.files:
        path = change.path
        if not path:
            continue
        plain = plain_path(path)
        paths.add(plain)
    return frozenset(paths)


def _find_foundations(
    items: Sequence[Item],
    order: Order,
    declared: Declarations,
) -> Foundations:
    """Return for each item the designs that it depends on or shares a file with, in the
    order in which they were collected.
    """
    places: dict[Item, int] = {}
    sharers: dict[str, set[Item]] = {}
    for item, files in declared.items():
        place = len(places)
        places[item] = place
        for path in files:
            sharing = sharers.setdefault(path, set())
            sharing.add(item)
    collected = places.keys()
    place_of = places.__getitem__
    depends = order.depends
    foundations = {}
    for position, item in enumerate(items):
        stated = depends.get(position, ())
        others = set(stated)
        own = declared.get(item, ())
        for path in own:
            sharing = sharers[path]
            others |= sharing
        others.discard(item)
        designs = others & collected
        below = sorted(designs, key=place_of)
        ids = [design.id for design in below]
        foundations[item.id] = tuple(ids)
    return foundations


def _find_overlaps(
    items: Sequence[Item],
    order: Order,
    declared: Declarations,
) -> Iterator[After]:
    """Yield for each file the chain of designs that declare it, in an order that
    dependencies allow.

    A design only waits for the latest of the earlier ones with the same file, as that
    one waits for those before it. So a file of many designs gives a chain, and not a
    pair for each two of them.
    """
    needs = order.needs
    latest: dict[str, int] = {}
    total = len(items)
    for position in _sort(total, needs):
        item = items[position]
        files = declared.get(item, ())
        shared: dict[int, list[str]] = {}
        for path in sorted(files):
            if path in latest:
                other = latest[path]
                paths = shared.setdefault(other, [])
                paths.append(path)
            latest[path] = position
        known = needs.get(position, ())
        overlaps = sorted(shared.items())
        for other, paths in overlaps:
            if other in known:
                continue
            listed = _enumerate(paths)
            reason = f"both change {listed}"
            pair = After(position, other, reason, is_binding=False)
            yield pair


def _sort(total: int, needs: Needs) -> Iterator[int]:
    """Yield the positions so that dependencies come first."""
    queue = ReadyQueue(total, needs)
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
