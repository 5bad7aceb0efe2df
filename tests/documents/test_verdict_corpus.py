"""Every text of the corpus is read as what it says, and nothing else."""

from __future__ import annotations

import pytest

from agentos.documents.verdict import Decision, VerdictError, read_verdict
from tests.documents.verdicts.corpus import CASES, NOT_APPROVED, REFUSED


def outcome(text: str) -> str:
    try:
        return str(read_verdict(text).decision)
    except VerdictError:
        return REFUSED


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    assert len(CASES) >= 400
    assert len({name for name, _, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [pytest.param(text, told, id=name) for name, text, told in CASES],
)
def test_a_text_is_read_as_what_it_says(text: str, expected: str) -> None:
    found = outcome(text)
    if expected == NOT_APPROVED:
        assert found != Decision.APPROVED
    else:
        assert found == expected
