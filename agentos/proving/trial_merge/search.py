"""Find which items break which test by testing a few sets of them. Pure except for the
probes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Set
from dataclasses import dataclass

from agentos.proving.trial_merge.candidates import (
    DependencySet,
    ItemIds,
    Items,
    ItemSet,
)

Failures = Mapping[str, str]
"""The tests that fail because of the merged items, each with its cause."""
ProbeResult = Awaitable[Failures | None]
Probe = Callable[[Items], ProbeResult]
"""Returns what fails with these items merged in this order; None if they cannot be
merged without others.
"""


@dataclass(frozen=True, slots=True)
class Break:
    """A minimal set of items that fail together."""

    culprit: str
    """The last of them in merge order: without it the others do not fail."""
    others: Items
    """The items it breaks with; none if it fails alone."""
    failures: Failures
    """What fails with exactly these items."""


async def find_break(
    dependencies: DependencySet, items: Items, failures: Failures, probe: Probe
) -> Break:
    """Return a minimal subset of these items that shows one of the failures, given that
    all of them together do.

    Bisection first finds the merge at which a test turns red: before it none of the
    failures shows, after it one does. As long as the items found so far do not show it
    alone, the same search runs over the items before them: the shortest prefix of those
    that turns the test red together with the found items ends with the next item that
    is needed. Each step halves, so a pair among n items takes about 2 log n probes. The
    returned set was itself seen to fail.
    """
    tests = failures.keys()
    search = _Search(dependencies, probe, tests)
    prefix = await search.shortest_red(items, frozenset())
    seen = await search.failing(prefix)
    failed = seen.keys()
    test = min(failed & tests)
    # The other failures may have other causes: one break explains one test.
    search.tests = {test}
    *before, last = prefix
    needed = [last]
    while True:
        base = dependencies.with_brought(needed)
        # The base contains all that the found items bring along, so the rest of the
        # prefix together with the base is the set that was red.
        rest = set(before) - base
        row = dependencies.in_order(rest)
        if not row:
            break
        if await search.is_red(base):
            break
        prefix = await search.shortest_red(row, base)
        *before, last = prefix
        needed.append(last)
    # An item that was found later may turn the test red without the earlier ones.
    for item in needed[1:]:
        alone = dependencies.with_brought([item])
        if await search.is_red(alone):
            needed = [item]
            break
    base = dependencies.with_brought(needed)
    shown = await search.failing(base)
    if not shown:
        shown = {test: seen[test]}
    by_name = sorted(shown.items())
    culprit, *others = needed
    return Break(
        culprit=culprit, others=dependencies.in_order(others), failures=dict(by_name)
    )


@dataclass(slots=True)
class _Search:
    """Probes of sets of items for some tests."""

    dependencies: DependencySet
    probe: Probe
    tests: Set[str]

    async def failing(self, items: ItemIds) -> Failures:
        """Return what fails with these items; nothing if they cannot be merged without
        others.
        """
        ordered = self.dependencies.in_order(items)
        failures = await self.probe(ordered)
        return failures or {}

    async def is_red(self, items: ItemIds) -> bool:
        """Return whether one of the tests fails with these items."""
        failures = await self.failing(items)
        return not self.tests.isdisjoint(failures)

    async def shortest_red(self, row: Items, base: ItemSet) -> Items:
        """Return a prefix that is red together with the base, while the prefix without
        its last item is not.

        The whole row must be red with the base, and the base alone must not be.
        """
        green = 0
        red = len(row)
        while red - green > 1:
            middle = (green + red) // 2
            prefix = row[:middle]
            tested = base.union(prefix)
            if await self.is_red(tested):
                red = middle
            else:
                green = middle
        return row[:red]
