"""The order that dependencies demand: which items may start, which wait, which wait for themselves. Pure."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

Needs = Mapping[int, Sequence[int]]
"""For the position of an item, the positions of those that it waits for; items without any are left out."""

MOST_SEARCHED = 200


def find_cycles(needs: Needs) -> list[tuple[int, ...]]:
    """Return the groups of items that wait for each other, each in ascending order; an item may wait for itself.

    This is Tarjan's search for strongly connected components, without recursion, as chains may be long.
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_items: list[int] = []
    is_open: set[int] = set()
    found = []
    for root in sorted(needs):
        if root in index:
            continue
        path = [(root, iter(needs.get(root, ())))]
        index[root] = low[root] = len(index)
        open_items.append(root)
        is_open.add(root)
        while path:
            item, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[item])
                if low[item] == index[item]:
                    group = _close(open_items, is_open, item)
                    if len(group) > 1 or item in needs.get(item, ()):
                        found.append(tuple(sorted(group)))
            elif following not in index:
                index[following] = low[following] = len(index)
                open_items.append(following)
                is_open.add(following)
                path.append((following, iter(needs.get(following, ()))))
            elif following in is_open:
                low[item] = min(low[item], index[following])
    return sorted(found)


def _close(open_items: list[int], is_open: set[int], item: int) -> list[int]:
    group = []
    while True:
        member = open_items.pop()
        is_open.discard(member)
        group.append(member)
        if member == item:
            return group


def trace_cycles(needs: Needs, group: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return for each item of a group a shortest way from it back to itself; of a large group all get the same one."""
    members = set(group)
    if len(group) <= MOST_SEARCHED:
        return {item: _trace(needs, members, item) for item in group}
    way = _trace(needs, members, group[0])
    return dict.fromkeys(group, way)


def _trace(needs: Needs, members: set[int], start: int) -> tuple[int, ...]:
    before: dict[int, int] = {}
    queue = deque([start])
    while queue:
        item = queue.popleft()
        for following in needs.get(item, ()):
            if following == start:
                way = [start, item] if item != start else [start]
                while way[-1] != start and before[way[-1]] != start:
                    way.append(before[way[-1]])
                return (start, *reversed(way[1:]), start)
            if following in members and following not in before:
                before[following] = item
                queue.append(following)
    raise ValueError(f"{start} waits for itself in no way")


def longest_chain(total: int, needs: Needs) -> int:
    """Return how many items at the most have to run one after the other; the needs have no cycle."""
    if not needs:
        return min(total, 1)
    depth = [1] * total
    waiting, followers = _turn_round(total, needs)
    ready = deque(position for position in range(total) if not waiting[position])
    while ready:
        position = ready.popleft()
        for follower in followers.get(position, ()):
            depth[follower] = max(depth[follower], depth[position] + 1)
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return max(depth, default=0)


def _turn_round(total: int, needs: Needs) -> tuple[list[int], dict[int, list[int]]]:
    """Return how many others each item waits for, and who waits for whom."""
    waiting = [0] * total
    followers: dict[int, list[int]] = {}
    for position, others in needs.items():
        for other in set(others):
            waiting[position] += 1
            followers.setdefault(other, []).append(position)
    return waiting, followers


class ReadyQueue:
    """Give out items as soon as those that they wait for are done, the first position first.

    An item is given out at most once. One that ends without what others need of it holds these back, and those that
    wait for them in turn, for good.
    """

    def __init__(
        self, total: int, needs: Needs, held: Iterable[int] = (), loose: Collection[tuple[int, int]] = ()
    ) -> None:
        """Take what waits for what; in a `loose` pair the first needs only that the second has ended."""
        self._loose = loose
        self._waiting, self._followers = _turn_round(total, needs)
        self._is_given = bytearray(total)
        self.held: dict[int, int | None] = {}
        """Items that cannot start any more, with the one that they wait for; None when that is not of this batch."""
        for position in held:
            self.held[position] = None
        for position in tuple(self.held):
            self._hold_followers(position)
        self._ready: list[int] = []
        for position in self.held:
            self._release_followers(position)
        self._ready = [
            position for position in range(total) if not self._waiting[position] and position not in self.held
        ]

    def take(self) -> int | None:
        """Return the next item that may start, None when none may at present."""
        if not self._ready:
            return None
        position = heapq.heappop(self._ready)
        self._is_given[position] = 1
        return position

    def finish(self, position: int, *, is_fulfilled: bool) -> list[int]:
        """Let those start that waited for this item, or hold them back; return the ones that are now held back."""
        held = [] if is_fulfilled else self._hold_followers(position)
        for ended in (position, *held):
            self._release_followers(ended)
        return held

    def _release_followers(self, position: int) -> None:
        for follower in self._followers.get(position, ()):
            self._waiting[follower] -= 1
            if not self._waiting[follower] and follower not in self.held:
                heapq.heappush(self._ready, follower)

    def left(self) -> list[int]:
        """Return the items that were never given out."""
        return [position for position, is_given in enumerate(self._is_given) if not is_given]

    def _hold_followers(self, position: int) -> list[int]:
        newly: list[int] = []
        queue = deque([position])
        while queue:
            item = queue.popleft()
            for follower in self._followers.get(item, ()):
                if follower not in self.held and (follower, item) not in self._loose:
                    self.held[follower] = item
                    newly.append(follower)
                    queue.append(follower)
        return newly
