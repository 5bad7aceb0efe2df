"""Whatever sets of items break together: the search names exactly such a set, and what
is kept is green.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.proving.trial_merge.candidates import (
    Candidate,
    DependencySet,
    order_candidates,
)
from agentos.proving.trial_merge.merging import Joined
from agentos.proving.trial_merge.report import MergedItem, MergeResult, TrialMergeReport
from agentos.proving.trial_merge.search import Failures
from agentos.proving.trial_merge.suite import OutOfRuns
from agentos.proving.trial_merge.trial import TrialMerge, TrialResult


@dataclass
class Model:
    """Items that break in planted sets, and conflict in planted pairs; each item brings
    along whom it contains.
    """

    total: int
    brought: Mapping[str, frozenset[str]]
    breaking: Sequence[frozenset[str]]
    conflicting: Sequence[frozenset[str]] = ()
    most: int = 10_000
    asked: set[tuple[str, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        items = map(str, range(self.total))
        self.candidates = [
            Candidate(item, "", "", self.brought.get(item, frozenset()))
            for item in items
        ]
        self.company = DependencySet(order_candidates(self.candidates))

    def failing(self, items: Sequence[str] | frozenset[str]) -> dict[str, str]:
        inside = self.company.with_brought(list(items))
        return {
            f"test_{number}": "red"
            for number, each in enumerate(self.breaking)
            if each <= inside
        }

    def join(self, items: Sequence[str]) -> Joined:
        inside: set[str] = set()
        for item in items:
            inside |= self.company.with_brought([item])
            if any(pair <= inside for pair in self.conflicting):
                return Joined("", item, ("file",))
        return Joined("whole")

    def adds_nothing(self, item: str) -> bool:
        del item
        return False

    async def fail(self, items: tuple[str, ...]) -> Failures | None:
        if not self.join(items).is_whole:
            return None
        if items not in self.asked and len(self.asked) >= self.most:
            raise OutOfRuns
        self.asked.add(items)
        return self.failing(items)

    def settle(self) -> TrialResult:
        return asyncio.run(TrialMerge(self.candidates, self, self).settle())


@st.composite
def models(draw: st.DrawFn, largest: int = 3, conflicts: int = 0) -> Model:
    """Return models in which an item contains some earlier ones, and with them all that
    these contain.
    """
    total = draw(st.integers(1, 12))
    brought: dict[str, frozenset[str]] = {}
    for number in range(1, total):
        direct = (
            draw(st.sets(st.integers(0, number - 1), max_size=2))
            if draw(st.booleans())
            else set()
        )
        found = {str(other) for other in direct}
        brought[str(number)] = frozenset(
            found.union(*(brought.get(other, frozenset()) for other in found))
        )
    items = st.integers(0, total - 1).map(str)
    breaking = draw(
        st.lists(st.frozensets(items, min_size=1, max_size=largest), max_size=4)
    )
    pairs = (
        draw(st.lists(st.frozensets(items, min_size=2, max_size=2), max_size=conflicts))
        if total > 1
        else []
    )
    return Model(total, brought, breaking, pairs)


def named(entry: MergedItem) -> frozenset[str]:
    return frozenset({entry.item, *entry.others})


@settings(deadline=None, max_examples=60)
@given(models())
def test_every_named_set_is_planted_and_smallest_and_the_rest_is_green(
    model: Model,
) -> None:
    settled = model.settle()
    assert not settled.unexplained
    assert not model.failing(settled.kept)
    for entry in settled.entries:
        if entry.result in (MergeResult.BREAKS, MergeResult.RED_ALONE):
            assert (entry.result is MergeResult.RED_ALONE) == (not entry.others)
            assert entry.failures == model.failing(named(entry))
            assert entry.failures
            for item in named(entry):
                assert set(entry.failures) - set(model.failing(named(entry) - {item}))
            if len(entry.others) == 1:
                shown = min(entry.failures)
                assert not {shown} & {
                    *model.failing([entry.item])
                } or shown not in model.failing(entry.others)


@settings(deadline=None, max_examples=60)
@given(models(largest=2))
def test_a_planted_pair_is_named_exactly(model: Model) -> None:
    free = Model(model.total, {}, [each for each in model.breaking if len(each) == 2])
    for entry in free.settle().entries:
        if entry.result is not MergeResult.MERGED:
            assert named(entry) in free.breaking


@settings(deadline=None, max_examples=60)
@given(models(conflicts=3))
def test_with_conflicts_too_everybody_is_accounted_for_and_what_is_kept_merges_green(
    model: Model,
) -> None:
    settled = model.settle()
    assert {entry.item for entry in settled.entries} == set(
        map(str, range(model.total))
    )
    assert model.join(settled.kept).is_whole
    assert not model.failing(settled.kept)
    out = {entry.item for entry in settled.entries} - set(settled.kept)
    for entry in settled.entries:
        if entry.result is MergeResult.LEFT_OUT:
            assert set(entry.others) <= out
        if entry.result is MergeResult.CONFLICT and entry.others:
            assert not model.join(
                model.company.in_order(model.company.with_brought(list(named(entry))))
            ).is_whole


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 64), st.data())
def test_a_pair_is_found_in_about_twice_the_logarithm_of_the_items(
    total: int, data: st.DataObject
) -> None:
    pair = data.draw(
        st.frozensets(st.integers(0, total - 1).map(str), min_size=2, max_size=2)
    )
    model = Model(total, {}, [pair])
    entries = [
        entry
        for entry in model.settle().entries
        if entry.result is not MergeResult.MERGED
    ]
    assert [named(entry) for entry in entries] == [pair]
    assert len(model.asked) <= 2 * total.bit_length() + 6


@settings(deadline=None, max_examples=60)
@given(models(), st.integers(0, 12))
def test_the_number_of_runs_is_bounded_and_what_is_left_open_is_told(
    model: Model, most: int
) -> None:
    model.most = most
    settled = model.settle()
    assert len(model.asked) <= most
    if not settled.is_cut_short:
        assert not model.failing(settled.kept)
    assert settled.is_cut_short or not settled.unexplained


@settings(deadline=None, max_examples=60)
@given(models())
def test_everybody_is_merged_after_those_whose_work_is_inside(model: Model) -> None:
    order = list(order_candidates(model.candidates))
    assert sorted(order, key=int) == list(map(str, range(model.total)))
    for item in order:
        assert all(
            order.index(other) < order.index(item)
            for other in model.brought.get(item, ())
        )


def test_items_that_contain_each_other_are_still_ordered_and_searched() -> None:
    model = Model(
        3, {"0": frozenset({"1"}), "1": frozenset({"0"})}, [frozenset({"1", "2"})]
    )
    settled = model.settle()
    assert not model.failing(settled.kept)


def test_numbers_come_before_names_and_by_their_value() -> None:
    candidates = [Candidate(item, "", "") for item in ("b", "10", "9", "a-2", "²")]
    assert list(order_candidates(candidates)) == ["9", "10", "a-2", "b", "²"]


@settings(deadline=None, max_examples=60)
@given(st.text(), st.text())
def test_hostile_names_and_causes_stay_on_their_line(test: str, cause: str) -> None:
    entry = MergedItem(
        "1", MergeResult.BREAKS, others=("2",), files=(test,), failures={test: cause}
    )
    report = TrialMergeReport(
        "r", "HEAD", "0" * 40, (entry,), 1, known=(test,), unexplained={test: cause}
    )
    assert all(
        len(line.splitlines()) <= 1 and len(line) < 2_000 for line in report.lines()
    )
