"""Malformed edits that are clear are applied as meant, and none is applied wrongly."""

from __future__ import annotations

import pytest

from tests.documents.changes.cases import OWN, Case, load_cases, run_case

CASES = load_cases(OWN)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_malformed_answer_is_applied_as_meant_or_refused(case: Case) -> None:
    result = run_case(case)
    assert not result.is_wrong, result.files
    assert result.is_as_meant, (result.slips, result.files)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 15
