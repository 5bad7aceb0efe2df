"""The items to merge, and their merge order. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import inf

_NUMBER = re.compile(r"[0-9]{1,19}")

Items = tuple[str, ...]
"""Ids of items in merge order."""
ItemIds = Collection[str]
"""Ids of items in any order."""
ItemSet = frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished item and the commit that would be merged."""

    item: str
    branch: str
    commit: str
    contains: ItemSet = frozenset()
    """The other candidates whose work its commit contains."""


CandidateMap = dict[str, Candidate]
"""Candidates by their item."""


def natural_key(item: str) -> tuple[float, str]:
    """Return the sort key of an id: numbers by value, before names."""
    if _NUMBER.fullmatch(item):
        return int(item), item
    return inf, item


def order_candidates(candidates: Iterable[Candidate]) -> CandidateMap:
    """Return the candidates in merge order: each after those it contains, otherwise by
    id.

    If people merged branches into each other, two candidates may contain each other;
    then the id alone decides.
    """
    waiting: CandidateMap = {}
    for candidate in candidates:
        waiting[candidate.item] = candidate
    ordered: CandidateMap = {}
    while waiting:
        item = _next_item(waiting)
        ordered[item] = waiting.pop(item)
    return ordered


def _next_item(waiting: CandidateMap) -> str:
    items = sorted(waiting, key=natural_key)
    for item in items:
        candidate = waiting[item]
        if candidate.contains.isdisjoint(waiting):
            return item
    return items[0]


@dataclass(frozen=True, slots=True)
class DependencySet:
    """Candidates in merge order, and the other candidates that each contains."""

    candidates: CandidateMap

    @property
    def items(self) -> Items:
        """The ids of all candidates."""
        return tuple(self.candidates)

    def brought_by(self, item: str) -> ItemSet:
        """Return the other candidates that an item contains."""
        contained = self.candidates[item].contains
        return contained.intersection(self.candidates)

    def with_brought(self, items: ItemIds) -> ItemSet:
        """Return the items and all that they contain, directly or not."""
        found = set(items)
        waiting = list(items)
        while waiting:
            item = waiting.pop()
            brought = self.brought_by(item)
            new = brought - found
            found |= new
            waiting += new
        return frozenset(found)

    def in_order(self, items: ItemIds) -> Items:
        """Return these items in merge order."""
        ordered = [item for item in self.candidates if item in items]
        return tuple(ordered)
