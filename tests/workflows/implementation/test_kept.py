"""What must not change is recognized, and nobody can declare everything to be that."""

from __future__ import annotations

import pytest

from agentos.documents.lld import LldRequirement, LldScenario
from agentos.workflows.implementation.kept import (
    BY_DESIGN,
    BY_REVIEWER,
    BY_WRITER,
    Kept,
    decide_kept,
    listen,
    read_kept,
)

SOUNDS = {
    "Calls without the option are unchanged.": True,
    "The output of `list` must not change.": True,
    "Existing files do not be altered": True,
    "Stays backward compatible with 1.x": True,
    "Backwards-compatible signature": True,
    "No behaviour changes for callers of `get`": True,
    "Lines without a key are read as before; comments are unaffected.": True,
    "`dump` still returns a text": True,
    "The order of the keys is preserved": True,
    "The width keeps its default": True,
    "Add `--json`; without it, the output is unchanged.": False,
    "A flag is added, but the default is unchanged": False,
    "The total is rounded": False,
    "": False,
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
    assert kept.requirements == frozenset(), "words alone excuse no requirement"


def test_the_type_of_all_scenarios_excuses_a_requirement() -> None:
    scenarios = [scenario("020", "Sums", "Regression", "R2"), *SCENARIOS[3:]]
    planned = read_kept(REQUIREMENTS, scenarios)
    assert decide_kept(planned, {"R2": ("020",)}).requirements == {"R2"}
    assert decide_kept(planned, {"R2": ("020", "040")}).requirements == set()
    assert decide_kept(planned, {"R2": ("020",)}, denied=["20"]).requirements == set()


def test_the_reviewer_has_the_last_word_where_it_speaks() -> None:
    kept = decide(confirmed=["30"], denied=["T020", "050"], said=["020", "010"])
    assert kept.scenarios == {"010": BY_WRITER, "030": BY_REVIEWER}
    assert kept.requirements == {"R3"}


def test_the_writer_of_the_tests_excuses_no_requirement() -> None:
    kept = decide(said=["010", "030", "040"])
    assert set(kept.scenarios) == {"010", "020", "030", "040", "050"}
    assert kept.requirements == frozenset()


def test_the_reviewer_is_asked_about_what_only_sounds_like_it() -> None:
    planned = read_kept(REQUIREMENTS, SCENARIOS)
    assert planned.find_undecided([]) == [
        "020: Sums (R2: Sums are unchanged.)",
        "030: Dump (R3: `dump` still returns a text.)",
    ]
    assert planned.find_undecided(["T20"]) == [
        "030: Dump (R3: `dump` still returns a text.)"
    ]
