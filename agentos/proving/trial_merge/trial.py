"""Merge item after item, leave out those that conflict, and find which break which.
Pure except for the merges and tests it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentos.proving.trial_merge.candidates import (
    Candidate,
    DependencySet,
    ItemIds,
    Items,
    order_candidates,
)
from agentos.proving.trial_merge.merging import Joined
from agentos.proving.trial_merge.report import MergedItem, MergeResult
from agentos.proving.trial_merge.search import Break, Failures, find_break
from agentos.proving.trial_merge.suite import OutOfRuns


class Joins(Protocol):
    """Merges items into the target."""

    def join(self, items: Sequence[str]) -> Joined:
        """Merge these items in this order, up to the first that conflicts."""

    def adds_nothing(self, item: str) -> bool:
        """Return whether the target already contains the changes of an item."""


class Tests(Protocol):
    """Runs the suite on merged items."""

    async def fail(self, items: Items) -> Failures | None:
        """Return what fails because of these items; None if they cannot be merged
        without others.
        """


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of each item in merge order, and the unexplained failures."""

    entries: tuple[MergedItem, ...]
    kept: Items
    unexplained: Failures = field(default_factory=dict)
    is_cut_short: bool = False


class TrialMerge:
    """One trial merge from the first merge to the last test."""

    def __init__(
        self, candidates: Sequence[Candidate], joins: Joins, tests: Tests
    ) -> None:
        self._candidates = order_candidates(candidates)
        self._dependencies = DependencySet(self._candidates)
        self._joins = joins
        self._tests = tests
        self._kept: list[str] = []
        self._out: dict[str, MergedItem] = {}

    async def settle(self) -> TrialResult:
        """Merge and test until the suite is green with the kept items or the runs are
        used up.
        """
        self._merge(self._dependencies.items)
        failures: Failures = {}
        try:
            while self._kept:
                kept = tuple(self._kept)
                failures = await self._tests.fail(kept) or {}
                if not failures:
                    break
                found = await find_break(
                    self._dependencies, kept, failures, self._tests.fail
                )
                self._leave_out(found)
                failures = {}
        except OutOfRuns:
            return TrialResult(
                self._entries(), tuple(self._kept), failures, is_cut_short=True
            )
        return TrialResult(self._entries(), tuple(self._kept))

    def _merge(self, items: Sequence[str]) -> None:
        """Merge items on top of each other; leave out an item that contains one that
        was left out.
        """
        self._kept = []
        for item in items:
            brought = self._dependencies.brought_by(item)
            missing = self._dependencies.in_order(brought & self._out.keys())
            if missing:
                self._note(item, MergeResult.LEFT_OUT, others=missing)
                continue
            joined = self._joins.join([*self._kept, item])
            if joined.is_whole:
                self._kept.append(item)
            else:
                self._note(
                    item,
                    MergeResult.CONFLICT,
                    others=self._find_rivals(item),
                    files=joined.files,
                )

    def _find_rivals(self, item: str) -> Items:
        """Return the kept items that an item conflicts with; none if it conflicts with
        the target itself.
        """
        alone = self._dependencies.with_brought([item])
        if not self._can_join(alone):
            return ()
        others = [other for other in self._kept if other not in alone]
        rivals = []
        for other in others:
            brought = self._dependencies.with_brought([other])
            if not self._can_join(alone | brought):
                rivals.append(other)
        if rivals:
            return tuple(rivals)
        # No single item conflicts, but several together do: name the one that completes
        # the conflict.
        together = set(alone)
        for other in others:
            together.add(other)
            if not self._can_join(together):
                return (other,)
        return tuple(others[-1:])

    def _can_join(self, items: ItemIds) -> bool:
        ordered = self._dependencies.in_order(items)
        return self._joins.join(ordered).is_whole

    def _leave_out(self, found: Break) -> None:
        result = MergeResult.RED_ALONE
        if found.others:
            result = MergeResult.BREAKS
        self._note(found.culprit, result, others=found.others, failures=found.failures)
        self._merge([item for item in self._kept if item != found.culprit])

    def _note(
        self,
        item: str,
        result: MergeResult,
        *,
        others: Items = (),
        files: tuple[str, ...] = (),
        failures: Failures | None = None,
    ) -> None:
        candidate = self._candidates[item]
        entry = MergedItem(
            item,
            result,
            candidate.branch,
            candidate.commit,
            others,
            files,
            failures or {},
        )
        self._out[item] = entry

    def _entries(self) -> tuple[MergedItem, ...]:
        items = self._dependencies.items
        return tuple(self._out.get(item) or self._kept_entry(item) for item in items)

    def _kept_entry(self, item: str) -> MergedItem:
        candidate = self._candidates[item]
        result = MergeResult.MERGED
        if self._joins.adds_nothing(item):
            result = MergeResult.IN_TARGET
        return MergedItem(item, result, candidate.branch, candidate.commit)
