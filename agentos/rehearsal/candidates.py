"""The items whose work is to be merged, and the order in which that is done. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished item and the commit that would be merged."""

    item: str
    branch: str
    commit: str
    contains: frozenset[str] = frozenset()
    """The other candidates whose work its commit has in it already."""


def natural_key(item: str) -> tuple[int, int, str]:
    """Return what ids are sorted by: numbers by their value, before names."""
    is_number = item.isascii() and item.isdigit() and len(item) < 20
    return (0, int(item), item) if is_number else (1, 0, item)


def order_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return them in merge order: each after those that it contains, otherwise by id.

    Where people merged branches into each other, two may contain each other: then the id alone decides.
    """
    waiting = sorted(candidates, key=lambda candidate: natural_key(candidate.item))
    known = {candidate.item for candidate in waiting}
    placed: dict[str, Candidate] = {}
    while waiting:
        ready = (each for each in waiting if not (each.contains & known) - placed.keys() - {each.item})
        following = next(ready, waiting[0])
        waiting.remove(following)
        placed[following.item] = following
    return list(placed.values())


class Company:
    """Candidates in merge order, and whom each brings along."""

    def __init__(self, ordered: Sequence[Candidate]) -> None:
        self.items = tuple(candidate.item for candidate in ordered)
        self._contains: Mapping[str, frozenset[str]] = {each.item: each.contains for each in ordered}

    def brought_by(self, item: str) -> frozenset[str]:
        """Return the others that come along with an item."""
        return self._contains[item] & frozenset(self.items) - {item}

    def with_brought(self, items: Collection[str]) -> frozenset[str]:
        """Return the items and all that come along with them."""
        found = set(items)
        waiting = list(items)
        while waiting:
            new = self.brought_by(waiting.pop()) - found
            found |= new
            waiting += new
        return frozenset(found)

    def in_order(self, items: Collection[str]) -> tuple[str, ...]:
        """Return these items in merge order."""
        return tuple(item for item in self.items if item in items)
