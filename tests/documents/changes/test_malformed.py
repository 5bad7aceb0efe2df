"""Malformed answers that are clear are applied as meant, and none is applied wrongly."""

from __future__ import annotations

import pytest

from tests.documents.changes.cases import OWN, Case, load_cases, run_case

CASES = load_cases(OWN)
NOT_AS_MEANT = frozenset(
    {
        "a file in a tag",
        "marks in capitals without signs",
        "replace this with that, in sentences",
    }
)
"""Clear to a person, and yet refused: the model is told and sends them again."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_malformed_answer_is_applied_wrongly(case: Case) -> None:
    result = run_case(case)
    assert not result.is_wrong, result.files
    assert result.is_as_meant or result.slips


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_malformed_answer_is_applied_as_meant(case: Case) -> None:
    result = run_case(case)
    expected = case.name not in NOT_AS_MEANT
    assert result.is_as_meant is expected, (result.slips, result.files)


def test_at_most_three_of_many_cases_are_not_applied_as_meant() -> None:
    assert len(CASES) >= 170
    assert len(NOT_AS_MEANT) <= 3
