"""What must not change is recognized, and nobody can declare everything to be that."""

from __future__ import annotations

import pytest

from agentos.documents.lld import LldRequirement, LldScenario
from agentos.workflows.implementation.kept import (
    BY_DESIGN,
    BY_REVIEWER,
    BY_WRITER,
    Kept,
    Sound,
    decide_kept,
    listen,
    read_kept,
)

SOUNDS = {
    "Calls without the option are unchanged.": Sound.KEPT,
    "The output of `list` must not change.": Sound.KEPT,
    "Existing files do not be altered": Sound.KEPT,
    "Stays backward compatible with 1.x": Sound.KEPT,
    "Backwards-compatible signature": Sound.KEPT,
    "No behaviour changes for callers of `get`": Sound.KEPT,
    "Lines without a key are read as before; comments are unaffected.": Sound.KEPT,
    "`dump` still returns a text": Sound.UNSURE,
    "The order of the keys is preserved": Sound.UNSURE,
    "The width keeps its default": Sound.UNSURE,
    "Add `--json`; without it, the output is unchanged.": Sound.NEW,
    "A flag is added, but the default is unchanged": Sound.NEW,
    "The total is rounded": Sound.NEW,
    "": Sound.NEW,
}


@pytest.mark.parametrize("text", SOUNDS)
def test_a_text_is_about_what_must_not_change_if_each_clause_is(text: str) -> None:
    assert listen(text) is SOUNDS[text]


def scenario(id: str, name: str, type: str, *requirements: str) -> LldScenario:
    return LldScenario(id, name, type, "", "", "", requirements)


REQUIREMENTS = [
    LldRequirement("R1", "Prices have a tax."),
    LldRequirement("R2", "Sums are unchanged."),
    LldRequirement("R3", "`dump` still returns a text."),
]
SCENARIOS = [
    scenario("010", "Tax", "Auto", "R1"),
    scenario("T20", "Sums", "Auto", "R2"),
    scenario("030", "Dump", "Auto", "R3"),
    scenario("040", "Tax and sums", "Auto", "R1", "R2"),
    scenario("050", "Old tax", "Regression", "R1"),
]
COVERED = {"R1": ("010", "040", "050"), "R2": ("020", "040"), "R3": ("030",)}


def decide(**said: list[str]) -> Kept:
    return decide_kept(read_kept(REQUIREMENTS, SCENARIOS), COVERED, **said)


def test_a_design_says_it_by_type_name_or_all_covered_requirements() -> None:
    kept = decide()
    assert kept.scenarios == {"020": BY_DESIGN, "030": BY_DESIGN, "050": BY_DESIGN}
    assert kept.requirements == {"R2"}


def test_the_reviewer_has_the_last_word_where_it_speaks() -> None:
    kept = decide(confirmed=["30"], denied=["T020", "050"], said=["020", "010"])
    assert kept.scenarios == {"010": BY_WRITER, "030": BY_REVIEWER}
    assert kept.requirements == {"R3"}


def test_the_writer_of_the_tests_cannot_excuse_a_requirement_alone() -> None:
    kept = decide(said=["010", "030", "040"])
    assert set(kept.scenarios) == {"010", "020", "030", "040", "050"}
    assert kept.requirements == {"R2", "R3"}, "R3 sounds like it too"
