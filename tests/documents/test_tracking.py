"""A review that goes nowhere is seen."""

from __future__ import annotations

import pytest

from agentos.documents.tracking import find_standstill


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
