"""Merge item after item, leave out who conflicts, and name who breaks whom. Pure but for what it asks to be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentos.rehearsal.candidates import Candidate, Company, order_candidates
from agentos.rehearsal.merging import Joined
from agentos.rehearsal.report import Entry, Standing
from agentos.rehearsal.search import Break, Failures, find_break
from agentos.rehearsal.suite import OutOfRuns


class Joins(Protocol):
    """Merges items into the target."""

    def join(self, items: Sequence[str]) -> Joined:
        """Merge these items in this order, up to the first that conflicts."""

    def adds_nothing(self, item: str) -> bool:
        """Tell whether the target has all of an item already."""


class Tests(Protocol):
    """Runs the suite on merged items."""

    async def fail(self, items: tuple[str, ...]) -> Failures | None:
        """Return what fails because of these items; None when they cannot be merged by themselves."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How each item did, in merge order, and what could not be explained."""

    entries: tuple[Entry, ...]
    kept: tuple[str, ...]
    unexplained: Failures = field(default_factory=dict)
    is_cut_short: bool = False


class Rehearsing:
    """One rehearsal from the first merge to the last test."""

    def __init__(self, candidates: Sequence[Candidate], joins: Joins, tests: Tests) -> None:
        ordered = order_candidates(candidates)
        self._candidates: Mapping[str, Candidate] = {each.item: each for each in ordered}
        self._company = Company(ordered)
        self._joins = joins
        self._tests = tests
        self._kept: list[str] = []
        self._out: dict[str, Entry] = {}

    async def settle(self) -> Settled:
        """Return how each did: those kept merge, and the suite is green with them unless it says otherwise."""
        self._merge(self._company.items)
        failures: Failures = {}
        try:
            while failures := await self._test():
                self._leave_out(await find_break(self._company, self._kept, failures, self._tests.fail))
                failures = {}
        except OutOfRuns:
            return Settled(self._entries(), tuple(self._kept), failures, is_cut_short=True)
        return Settled(self._entries(), tuple(self._kept))

    async def _test(self) -> Failures:
        return await self._tests.fail(tuple(self._kept)) or {} if self._kept else {}

    def _merge(self, items: Sequence[str]) -> None:
        """Merge items on top of each other; who has the work of one in it that is out, is out too."""
        self._kept = []
        for item in items:
            brought = self._company.brought_by(item)
            if missing := self._company.in_order(brought & self._out.keys()):
                self._note(item, Standing.LEFT_OUT, others=missing)
                continue
            joined = self._joins.join([*self._kept, item])
            if joined.is_whole:
                self._kept.append(item)
            else:
                self._note(item, Standing.CONFLICT, others=self._find_rivals(item), files=joined.files)

    def _find_rivals(self, item: str) -> tuple[str, ...]:
        """Return those kept with whom an item conflicts; none when it does so with the target itself."""
        company = self._company
        alone = company.with_brought([item])
        if not self._joins.join(company.in_order(alone)).is_whole:
            return ()
        others = [other for other in self._kept if other not in alone]
        rivals = [
            other
            for other in others
            if not self._joins.join(company.in_order(alone | company.with_brought([other]))).is_whole
        ]
        if not rivals:
            # No single one is in its way, but some together are: the one with whom the conflict appears is named.
            rivals = [
                other
                for number, other in enumerate(others)
                if not self._joins.join(company.in_order({*alone, *others[: number + 1]})).is_whole
            ][:1]
        return tuple(rivals) or tuple(others[-1:])

    def _leave_out(self, found: Break) -> None:
        standing = Standing.BREAKS if found.others else Standing.RED_ALONE
        self._note(found.culprit, standing, others=found.others, failures=found.failures)
        self._merge([item for item in self._kept if item != found.culprit])

    def _note(
        self,
        item: str,
        standing: Standing,
        *,
        others: tuple[str, ...] = (),
        files: tuple[str, ...] = (),
        failures: Failures | None = None,
    ) -> None:
        candidate = self._candidates[item]
        entry = Entry(item, standing, candidate.branch, candidate.commit, others, files, failures or {})
        self._out[item] = entry

    def _entries(self) -> tuple[Entry, ...]:
        return tuple(self._out.get(item) or self._kept_entry(item) for item in self._company.items)

    def _kept_entry(self, item: str) -> Entry:
        candidate = self._candidates[item]
        standing = Standing.IN_TARGET if self._joins.adds_nothing(item) else Standing.MERGED
        return Entry(item, standing, candidate.branch, candidate.commit)
