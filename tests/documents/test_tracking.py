"""Findings are recognized from review to review, and a review that goes nowhere is
seen.
"""

from __future__ import annotations

import pytest

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.tracking import KnownFindings, find_standstill

RETRY = "The export has no retry when the disk is full; say what happens then."
NAMES = (
    "Column names of the report differ between section 2.3 and the acceptance criteria."
)
LOGS = "Nothing is logged when a member is skipped, so that nobody could tell why."


def finding(
    id: str, text: str, section: str = "2.5", tier: Tier = Tier.HIGH
) -> Finding:
    """Return a finding about quality."""
    return Finding(id, tier, Category.QUALITY, section, text)


def known(*findings: Finding) -> KnownFindings:
    return KnownFindings(findings)


def test_what_is_found_again_in_other_words_and_under_another_id_is_known() -> None:
    reworded = (
        "Still no retry when the disk is full: say what happens to the export then."
    )
    earlier = known(finding("F1", RETRY), finding("F2", NAMES))
    assert earlier.find(finding("7", reworded), set()) == "F1"


def test_an_id_that_now_stands_for_something_else_is_not_known() -> None:
    earlier = known(finding("F1", RETRY))
    assert earlier.find(finding("F1", LOGS, section="7.2"), set()) is None


def test_an_id_is_found_once() -> None:
    earlier = known(finding("F1", RETRY))
    assert earlier.find(finding("F1", RETRY), {"F1"}) is None


def rounds_of(*ids: str) -> list[set[str]]:
    """Return rounds with findings of these ids, one string a round, one letter a
    finding.
    """
    return [set(names) for names in ids]


@pytest.mark.parametrize(
    ("ids", "word"),
    [
        (("a",), ""),
        (("a", "a"), ""),
        (("a", "a", "a"), "no finding was resolved in 2 rounds: a"),
        (("a", "ab", "ab"), "no finding was resolved"),
        (("ab", "a", "a"), ""),
        (("ab", "a", ""), ""),
        (("a", "b", "a"), "round 3 is back at the findings of round 1: a"),
        (("a", "b", "c", "b"), "round 4 is back at the findings of round 2: b"),
        (("a", "bc", "def"), "the findings grow from round to round: 1, 2, 3"),
        (("a", "bc", "d", "ef"), ""),
        (("abc", "ab", "a"), ""),
        (("a", "b", "c"), ""),
    ],
)
def test_a_standstill_is_said_with_its_reason(ids: tuple[str, ...], word: str) -> None:
    said = find_standstill(rounds_of(*ids))
    assert bool(said) == bool(word)
    assert word in said
