"""Algorithms on dependencies: which items may start, which are blocked, and which depend
on themselves. Pure.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

Needs = Mapping[int, Sequence[int]]
"""For the position of an item, the positions of its dependencies; items without any are
left out.
"""
Trace = tuple[int, ...]
"""Positions, each of which depends on the next."""
Followers = dict[int, list[int]]
"""For the position of an item, the positions of those that depend on it."""

MAX_TRACED = 200
"""Size of a cycle up to which each of its items gets a path of its own."""


@dataclass(slots=True)
class _Visit:
    """An item while cycles are searched for."""

    item: int
    rest: Iterator[int]
    """Dependencies that the search has not followed yet."""
    index: int
    low: int
    """The smallest index on the stack that the item is known to reach."""
    is_on_stack: bool = True


def find_cycles(needs: Needs) -> list[tuple[int, ...]]:
    """Return the groups of items that depend on each other, each in ascending order; an
    item may depend on itself.

    This is Tarjan's algorithm for strongly connected components. An item that reaches
    no smaller index than its own is the first of a group, and the others of the group
    are above it on the stack. There is no recursion, as chains may be longer than
    Python allows.
    """
    visits: dict[int, _Visit] = {}
    stack: list[_Visit] = []
    path: list[_Visit] = []
    cycles = []

    def begin(item: int) -> None:
        number = len(visits)
        rest = iter(needs.get(item, ()))
        visit = _Visit(item, rest, number, number)
        visits[item] = visit
        stack.append(visit)
        path.append(visit)

    for root in sorted(needs):
        if root not in visits:
            begin(root)
        while path:
            visit = path[-1]
            other = next(visit.rest, None)
            if other is not None:
                known = visits.get(other)
                if known is None:
                    begin(other)
                elif known.is_on_stack:
                    visit.low = min(visit.low, known.index)
                continue
            path.pop()
            if path:
                parent = path[-1]
                parent.low = min(parent.low, visit.low)
            if visit.low == visit.index:
                group = _pop_through(stack, visit)
                own_needs = needs.get(visit.item, ())
                if len(group) > 1 or visit.item in own_needs:
                    cycle = tuple(sorted(group))
                    cycles.append(cycle)
    return sorted(cycles)


def _pop_through(stack: list[_Visit], last: _Visit) -> list[int]:
    """Pop the stack down to a visit, and return the items."""
    items = []
    while last.is_on_stack:
        visit = stack.pop()
        visit.is_on_stack = False
        items.append(visit.item)
    return items


def trace_cycles(needs: Needs, group: Sequence[int]) -> dict[int, Trace]:
    """Return for each item of a group a shortest path from it back to itself; the items
    of a large group all get the same one.
    """
    members = set(group)
    if len(group) > MAX_TRACED:
        shared = _trace(needs, members, group[0])
        return dict.fromkeys(group, shared)
    return {item: _trace(needs, members, item) for item in group}


def _trace(needs: Needs, members: set[int], start: int) -> Trace:
    """Search breadth-first for the way back to the start."""
    previous: dict[int, int] = {}
    queue = deque([start])
    while queue:
        item = queue.popleft()
        for other in needs.get(item, ()):
            if other == start:
                return _walk_back(previous, item, start)
            if other in members and other not in previous:
                previous[other] = item
                queue.append(other)
    raise ValueError(f"{start} does not depend on itself")


def _walk_back(previous: Mapping[int, int], last: int, start: int) -> Trace:
    """Return the path from the start to the last item and back to the start."""
    path = [start]
    item = last
    while item != start:
        path.append(item)
        item = previous[item]
    path.append(start)
    path.reverse()
    return tuple(path)


def longest_chain(total: int, needs: Needs) -> int:
    """Return the maximum number of items that have to run one after the other; there
    must be no cycle.
    """
    if not needs:
        return min(total, 1)
    depths: dict[int, int] = {}
    for position in TopologicalSorter(needs).static_order():
        depth = 0
        for other in needs.get(position, ()):
            depth = max(depth, depths[other])
        depths[position] = depth + 1
    return max(depths.values())


def _invert(total: int, needs: Needs) -> tuple[list[int], Followers]:
    """Return the number of dependencies of each item, and the items that depend on
    each.
    """
    amounts = [0] * total
    followers: Followers = {}
    for position, others in needs.items():
        distinct = set(others)
        amounts[position] = len(distinct)
        for other in distinct:
            waiting = followers.setdefault(other, [])
            waiting.append(position)
    return amounts, followers


class ReadyQueue:
    """Hand out items as soon as their dependencies have ended, the lowest position
    first.

    Each item is handed out at most once. An item that does not succeed blocks all items
    that depend on it, directly or not, for good.
    """

    def __init__(
        self,
        total: int,
        needs: Needs,
        blocked: Iterable[int] = (),
        loose: Collection[tuple[int, int]] = (),
    ) -> None:
        """Take the dependencies; in a `loose` pair the first only needs the second to
        end, not to succeed.
        """
        self._loose = loose
        self._open_needs, self._followers = _invert(total, needs)
        self._is_taken = bytearray(total)
        self._ready: list[int] = []
        self.blocked: dict[int, int | None] = dict.fromkeys(blocked)
        """Items that can no longer start, with the one that blocks them; None if that is
        not in this run.
        """
        for position in tuple(self.blocked):
            self._block_followers(position)
        for position in self.blocked:
            self._release_followers(position)
        # In ascending order, so that it is a valid heap.
        self._ready = list(filter(self._is_ready, range(total)))

    def take(self) -> int | None:
        """Return the next item that may start now, None if there is none."""
        if not self._ready:
            return None
        position = heapq.heappop(self._ready)
        self._is_taken[position] = 1
        return position

    def finish(self, position: int, *, is_successful: bool) -> list[int]:
        """Release the items that depend on this one, or block them; return those that
        are newly blocked.
        """
        blocked: list[int] = []
        if not is_successful:
            blocked = self._block_followers(position)
        for ended in (position, *blocked):
            self._release_followers(ended)
        return blocked

    def left(self) -> list[int]:
        """Return the items that were never handed out."""
        positions = range(len(self._is_taken))
        return [position for position in positions if not self._is_taken[position]]

    def _release_followers(self, position: int) -> None:
        for follower in self._followers.get(position, ()):
            self._open_needs[follower] -= 1
            if self._is_ready(follower):
                heapq.heappush(self._ready, follower)

    def _is_ready(self, position: int) -> bool:
        if position in self.blocked:
            return False
        return self._open_needs[position] <= 0

    def _block_followers(self, position: int) -> list[int]:
        blocked: list[int] = []
        queue = deque([position])
        while queue:
            item = queue.popleft()
            for follower in self._followers.get(item, ()):
                if follower in self.blocked:
                    continue
                if (follower, item) in self._loose:
                    continue
                self.blocked[follower] = item
                blocked.append(follower)
                queue.append(follower)
        return blocked
