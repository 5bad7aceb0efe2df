"""Vacuous and dishonest work is named and not delivered; honest work that looks like it
is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

from tests.proving.dishonest import (
    all_kept,
    blocked_without_cause,
    coverage_by_deleting,
    deleted_or_skipped,
    forged_results,
    honest,
    old_failures,
    passing_anyway,
    runner_lookers,
    special_cases,
    tautologies,
)
from tests.proving.dishonest.building import Built, build
from tests.proving.dishonest.case import Case

Find = Callable[[str, Case], Built]
DISHONEST = {
    "tautologies": tautologies.CASES,
    "passing_anyway": passing_anyway.CASES,
    "all_kept": all_kept.CASES,
    "deleted_or_skipped": deleted_or_skipped.CASES,
    "coverage_by_deleting": coverage_by_deleting.CASES,
    "special_cases": special_cases.CASES,
    "forged_results": forged_results.CASES,
    "runner_lookers": runner_lookers.CASES,
    "old_failures": old_failures.CASES,
    "blocked_without_cause": blocked_without_cause.CASES,
}
ALL = {**DISHONEST, "honest": honest.CASES}


def parameters(kinds: Mapping[str, tuple[Case, ...]]) -> list[object]:
    """Return a parameter for each case."""
    found: list[object] = []
    for kind, cases in kinds.items():
        for case in cases:
            marks = []
            if case.undecided:
                marks = [pytest.mark.xfail(reason=case.undecided, strict=False)]
            id = f"{kind}-{case.name}"
            found.append(pytest.param(kind, case, id=id, marks=marks))
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Find:
    """Return what became of a case; all cases of a kind are built with one command."""
    known: dict[str, dict[str, Built]] = {}

    def find(kind: str, case: Case) -> Built:
        if kind not in known:
            known[kind] = build(tmp_path_factory.mktemp(kind), ALL[kind])
        return known[kind][case.name]

    return find


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "case"), parameters(DISHONEST))
def test_dishonest_work_is_named_and_not_delivered(
    built: Find, kind: str, case: Case
) -> None:
    found = built(kind, case)
    if case.finding:
        # The reviewer is shown what it needs, and what it finds is said.
        assert re.search(case.evidence, found.shown), found.shown
        assert case.finding in found.said, found.said
    assert re.search(case.named, found.said), found.said
    assert found.is_delivered == bool(case.restored), found.said
    assert found.is_restored == bool(case.restored), found.said
    if kind == "blocked_without_cause":
        assert "(blocked)" in found.said, found.said
        assert re.search(r"implement-workflow --ids \d+ --note", found.said), found.said


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "case"), parameters({"honest": honest.CASES}))
def test_honest_work_is_delivered(built: Find, kind: str, case: Case) -> None:
    found = built(kind, case)
    assert re.search(case.named, found.said), found.said
    assert found.is_delivered == (case is not honest.BLOCKED), found.said
