"""Findings keep their ids from review to review, and a review that goes nowhere is
seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.tracking import (
    FindingStatus,
    change_detector,
    find_standstill,
    track,
)

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


def always(section: str) -> bool:
    """Say that everything was changed."""
    return bool(section) or True


def never(section: str) -> bool:
    """Say that nothing was changed."""
    return bool(section) and False


def test_a_first_review_keeps_its_own_ids() -> None:
    tracked = track([finding("H1", RETRY), finding("H2", NAMES)], [], always)
    assert tracked.to_json() == {"H1": "new", "H2": "new"}


def test_what_is_found_again_in_other_words_and_under_another_id_is_repeated() -> None:
    first = [finding("H1", RETRY), finding("H2", NAMES)]
    reworded = (
        "Still no retry when the disk is full: say what happens to the export then."
    )
    tracked = track([finding("7", reworded)], [first], always)
    assert tracked.to_json() == {"H1": "repeated", "H2": "closed"}
    assert tracked.findings == (finding("H1", reworded),)


def test_an_id_that_now_stands_for_something_else_is_given_a_new_name() -> None:
    tracked = track(
        [finding("H1", LOGS, section="7.2")], [[finding("H1", RETRY)]], always
    )
    assert tracked.to_json() == {"H1-r2": "new", "H1": "closed"}


def test_what_was_closed_and_comes_back_is_reopened() -> None:
    rounds = [[finding("H1", RETRY)], [finding("H2", NAMES)]]
    assert track([finding("H1", RETRY)], rounds, always).to_json() == {
        "H1": "reopened",
        "H2": "closed",
    }


def test_a_new_finding_about_a_part_that_was_not_touched_is_out_of_scope() -> None:
    tracked = track([finding("H9", LOGS)], [[finding("H1", RETRY)]], never)
    assert tracked.statuses["H9"] is FindingStatus.OUT_OF_SCOPE


def test_sections_are_told_apart_by_number_and_by_title() -> None:
    before = "# T\n\n## 2. Changes\n\n### 2.4 Signatures\n\na\n\n### 2.5 Flow\n\nb\n\n## 3. Requirements\n\n1. x\n"
    is_changed = change_detector(before, before.replace("\nb\n", "\nbb\n"))
    assert not is_changed("2.4")
    assert not is_changed("Section 3")
    assert not is_changed("Requirements")
    assert is_changed("2.5")
    assert is_changed("2"), "a section holds its subsections"
    assert is_changed("11"), "what is not there cannot be called untouched"
    assert is_changed("")


TEXTS = st.sampled_from((RETRY, NAMES, LOGS, "Short.", "", "`a` and `b` differ"))
FINDINGS = st.lists(
    st.builds(
        finding,
        st.sampled_from(("H1", "H2", "1", "x")),
        TEXTS,
        st.sampled_from(("", "2.5", "Flow")),
    ),
    max_size=4,
    unique_by=lambda one: one.id,
)


@given(FINDINGS, st.lists(FINDINGS, max_size=3), st.booleans())
def test_every_finding_has_one_id_and_every_earlier_one_a_fate(
    found: list[Finding], rounds: list[list[Finding]], is_touched: bool
) -> None:
    history: list[Sequence[Finding]] = []
    for earlier in rounds:
        history.append(track(earlier, history, always).findings)
    tracked = track(found, history, lambda _: is_touched)
    ids = [one.id for one in tracked.findings]
    assert len(set(ids)) == len(ids) == len(found)
    assert [one.text for one in tracked.findings] == [one.text for one in found]
    assert set(tracked.statuses) == set(ids) | {
        one.id for one in (history[-1] if history else ())
    }
    assert all(
        (fate is FindingStatus.CLOSED) == (id not in ids)
        for id, fate in tracked.statuses.items()
    )


def rounds_of(*ids: str) -> list[list[Finding]]:
    """Return rounds with findings of these ids, one string a round, one letter a
    finding.
    """
    return [[finding(id, id) for id in names] for names in ids]


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


def test_suggestions_hold_nobody_up() -> None:
    rounds = [[finding("s", "s", tier=Tier.SUGGESTION)]] * 5
    assert find_standstill(rounds) == ""
