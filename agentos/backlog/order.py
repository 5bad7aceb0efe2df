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
Positions = list[int]
Pair = tuple[int, int]
"""Two positions, of which the first depends on the second."""
Group = tuple[int, ...]
"""Positions in ascending order."""
Trace = tuple[int, ...]
"""Positions, each of which depends on the next."""
Origins = dict[int, int]
"""For a position that a search has reached, the position from which it came."""
Followers = dict[int, Positions]
"""For the position of an item, the positions of those that depend on it."""
Blockers = dict[int, int | None]
"""For the position of an item that can no longer start, the position of the one that
blocks it; None if that is not in this batch.
"""

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

    def reach(self, index: int) -> None:
        """Note that the item reaches an index on the stack."""
        if index < self.low:
            self.low = index


def find_cycles(needs: Needs) -> list[Group]:
    """Return the groups of items that depend on each other; an item may depend on
    itself.

    This is Tarjan's algorithm for strongly connected components. An item that reaches
    no smaller index than its own is the first of a group, and the others of the group
    are above it on the stack. There is no recursion, as chains may be longer than
    Python allows: `path` leads from the root to the item that is visited, and `stack`
    has every visited item whose group is not complete.
    """
    visits: dict[int, _Visit] = {}
    stack: list[_Visit] = []
    path: list[_Visit] = []
    cycles: list[Group] = []

    def begin(item: int) -> None:
        others = needs.get(item, ())
        rest = iter(others)
        index = len(visits)
        visit = _Visit(item, rest, index, low=index)
        visits[item] = visit
        stack.append(visit)
        path.append(visit)

    def end(visit: _Visit) -> None:
        path.pop()
        if path:
            parent = path[-1]
            parent.reach(visit.low)
        if visit.low < visit.index:
            return
        group = _pop_through(stack, visit)
        if len(group) == 1:
            others = needs.get(visit.item, ())
            if visit.item not in others:
                return
        group.sort()
        cycle = tuple(group)
        cycles.append(cycle)

    for root in sorted(needs):
        if root in visits:
            continue
        begin(root)
        while path:
            visit = path[-1]
            other = next(visit.rest, None)
            if other is None:
                end(visit)
                continue
            known = visits.get(other)
            if known is None:
                begin(other)
            elif known.is_on_stack:
                visit.reach(known.index)
    cycles.sort()
    return cycles


def _pop_through(stack: list[_Visit], last: _Visit) -> Positions:
    """Pop the stack down to a visit, and return the items."""
    items = []
    while last.is_on_stack:
        visit = stack.pop()
        visit.is_on_stack = False
        items.append(visit.item)
    return items


def trace_cycles(needs: Needs, group: Group) -> dict[int, Trace]:
    """Return for each item of a group a shortest path from it back to itself; the items
    of a large group all get the same one.
    """
    members = set(group)
    if len(group) > MAX_TRACED:
        first = group[0]
        shared = _trace(needs, members, first)
        return dict.fromkeys(group, shared)
    traces = {}
    for item in group:
        trace = _trace(needs, members, item)
        traces[item] = trace
    return traces


def _trace(needs: Needs, members: set[int], start: int) -> Trace:
    """Search breadth-first for the way back to the start.

    All items at one distance are visited before those at the next, so that the first
    way that is found is a shortest one.
    """
    origins: Origins = {}
    queue = deque([start])
    while queue:
        item = queue.popleft()
        others = needs.get(item, ())
        for other in others:
            if other == start:
                return _walk_back(origins, item, start)
            if other not in members:
                continue
            if other in origins:
                continue
            origins[other] = item
            queue.append(other)
    raise ValueError(f"{start} does not depend on itself")


def _walk_back(origins: Origins, last: int, start: int) -> Trace:
    """Return the path from the start to the last item and back to the start."""
    path = [start]
    item = last
    while item != start:
        path.append(item)
        item = origins[item]
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
    sorter = TopologicalSorter(needs)
    order = sorter.static_order()
    for position in order:
        below = 0
        others = needs.get(position, ())
        for other in others:
            depth = depths[other]
            below = max(below, depth)
        depths[position] = below + 1
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
        loose: Collection[Pair] = (),
    ) -> None:
        """Take the dependencies; in a `loose` pair the first only needs the second to
        end, not to succeed.
        """
        self._loose = loose
        open_needs, followers = _invert(total, needs)
        self._open_needs = open_needs
        self._followers = followers
        self._is_taken = bytearray(total)
        self._ready: Positions = []
        self.blocked: Blockers = dict.fromkeys(blocked)
        """Items that can no longer start, with the one that blocks them; None if that is
        not in this run.
        """
        # A copy, as the loop adds their followers.
        first_blocked = tuple(self.blocked)
        for position in first_blocked:
            self._block_followers(position)
        for position in self.blocked:
            self._release_followers(position)
        # In ascending order, so that it is a valid heap.
        positions = range(total)
        ready = filter(self._is_ready, positions)
        self._ready = list(ready)

    def take(self) -> int | None:
        """Return the next item that may start now, None if there is none."""
        if not self._ready:
            return None
        position = heapq.heappop(self._ready)
        self._is_taken[position] = 1
        return position

    def finish(self, position: int, *, is_successful: bool) -> Positions:
        """Release the items that depend on this one, or block them; return those that
        are newly blocked.
        """
        blocked: Positions = []
        if not is_successful:
            blocked = self._block_followers(position)
        self._release_followers(position)
        for follower in blocked:
            self._release_followers(follower)
        return blocked

    def left(self) -> Positions:
        """Return the items that were never handed out."""
        left = []
        for position, is_taken in enumerate(self._is_taken):
            if not is_taken:
                left.append(position)
        return left

    def _release_followers(self, position: int) -> None:
        followers = self._followers.get(position, ())
        open_needs = self._open_needs
        for follower in followers:
            open_needs[follower] -= 1
            if self._is_ready(follower):
                heapq.heappush(self._ready, follower)

    def _is_ready(self, position: int) -> bool:
        if position in self.blocked:
            return False
        open_needs = self._open_needs[position]
        return open_needs <= 0

    def _block_followers(self, position: int) -> Positions:
        """Block the items that depend on this one, directly or not; return those that
        are newly blocked.
        """
        blocked: Positions = []
        queue = deque([position])
        while queue:
            item = queue.popleft()
            followers = self._followers.get(item, ())
            for follower in followers:
                if follower in self.blocked:
                    continue
                pair = (follower, item)
                if pair in self._loose:
                    continue
                self.blocked[follower] = item
                blocked.append(follower)
                queue.append(follower)
        return blocked
