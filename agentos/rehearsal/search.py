"""Find out which items break which test, by asking what a few sets of them show. Pure but for the asking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agentos.rehearsal.candidates import Company

Failures = Mapping[str, str]
"""The tests that fail because of the items that were merged, each with its cause."""
Probe = Callable[[tuple[str, ...]], Awaitable[Failures | None]]
"""Says what fails with these items merged in this order; None when they cannot be merged without the rest."""


@dataclass(frozen=True, slots=True)
class Break:
    """A smallest set of items that was seen to fail."""

    culprit: str
    """The last of them in merge order: without it the others are well."""
    others: tuple[str, ...]
    """Whom it breaks with; none when it fails alone."""
    failures: Failures
    """What fails with exactly these."""


async def find_break(company: Company, items: Sequence[str], failures: Failures, probe: Probe) -> Break:
    """Return a smallest set of these items that shows one of the failures, given that all of them do.

    First the merge is found by bisection at which a test turns red: before it none of the failures shows, after it one
    does. Then, as long as the items found do not show it by themselves, the same is done with the items before them:
    the shortest row of those that together with the found ones turns the test red ends with the next one needed. Each
    step halves, so a pair among n items takes about 2 log n probes. What is named was seen to fail as it is named.
    """
    row = list(items)
    asking = _Asking(company, probe)
    end = await asking.first_red(row, frozenset(), failures)
    seen = await asking.failing(row[:end])
    test = min(name for name in seen if name in failures)
    needed = [row[end - 1]]
    while True:
        brought = company.with_brought(needed)
        # Whatever the found ones bring along is there already, so the row up to its end is the set that was seen red.
        row = [item for item in row[: end - 1] if item not in brought]
        if not row or await asking.shows(brought, {test: ""}):
            break
        end = await asking.first_red(row, brought, {test: ""})
        needed.append(row[end - 1])
    for item in needed[1:]:
        if await asking.shows(company.with_brought([item]), {test: ""}):
            needed = [item]
            break
    shown = await asking.failing(company.with_brought(needed)) or {test: seen[test]}
    culprit, *others = needed
    return Break(culprit, company.in_order(others), {name: shown[name] for name in sorted(shown)})


class _Asking:
    """Questions about sets of items."""

    def __init__(self, company: Company, probe: Probe) -> None:
        self._company = company
        self._probe = probe

    async def failing(self, items: Collection[str]) -> Failures:
        """Return what fails with these; nothing is known of those that cannot be merged by themselves."""
        return await self._probe(self._company.in_order(items)) or {}

    async def shows(self, items: Collection[str], tests: Failures) -> bool:
        """Tell whether one of the tests fails with these."""
        return any(name in tests for name in await self.failing(items))

    async def first_red(self, row: Sequence[str], base: frozenset[str], tests: Failures) -> int:
        """Return a length of the row that is red together with the base, while one less is not.

        The whole row is red with it, and the base alone is not.
        """
        green, red = 0, len(row)
        while red - green > 1:
            middle = (green + red) // 2
            if await self.shows({*row[:middle], *base}, tests):
                red = middle
            else:
                green = middle
        return red
