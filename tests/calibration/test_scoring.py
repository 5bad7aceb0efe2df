"""What counts as a catch, as a false alarm, and what a reviewer is worth by that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.calibration.case_files import CLEAN, Case, Defect, DefectClass
from agentos.calibration.judgement import Share, Worth, judge, say, tally
from agentos.calibration.scoring import Outcome, is_about, names_section, score
from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict import Decision, Verdict

DEFECT = Defect(DefectClass.MISSING_ERROR_PATH, ("2.5", "10.1"), ("full disk", "exit code 5", "OSError"))
BAD = Case("bad", "1", "", "", "", DEFECT)
GOOD = Case("good", "1", "", "", "")
ABOUT = "With a full disk step 6 raises, and nothing catches it."
ELSE = "The diagram lacks the reader."


def verdict(decision: Decision, text: str = "", section: str = "2.5", tier: Tier = Tier.HIGH) -> Verdict:
    """Return a verdict with one finding, or none."""
    findings = (Finding("F1", tier, Category.QUALITY, section, text),) if text else ()
    return Verdict(decision, "Said.", findings)


@pytest.mark.parametrize(
    ("case", "given_verdict", "outcome"),
    [
        (BAD, verdict(Decision.REVISE, ABOUT), Outcome.CAUGHT),
        (BAD, verdict(Decision.REVISE, ABOUT, tier=Tier.BLOCKING), Outcome.CAUGHT),
        (BAD, verdict(Decision.DISCUSS, ABOUT), Outcome.CAUGHT),
        (BAD, verdict(Decision.REVISE, ABOUT, tier=Tier.SUGGESTION), Outcome.ELSEWHERE),
        (BAD, verdict(Decision.REVISE, ABOUT, section="6"), Outcome.ELSEWHERE),
        (BAD, verdict(Decision.REVISE, f"{ABOUT} The exit code must be 5.", section=""), Outcome.CAUGHT),
        (BAD, verdict(Decision.REVISE, ELSE), Outcome.ELSEWHERE),
        (BAD, verdict(Decision.REVISE), Outcome.ELSEWHERE),
        (BAD, verdict(Decision.DISCUSS, ELSE), Outcome.DISCUSSED),
        (BAD, verdict(Decision.APPROVED, ABOUT), Outcome.NAMED),
        (BAD, verdict(Decision.APPROVED, ELSE), Outcome.MISSED),
        (BAD, verdict(Decision.APPROVED), Outcome.MISSED),
        (BAD, None, Outcome.UNUSABLE),
        (GOOD, verdict(Decision.APPROVED, ABOUT), Outcome.APPROVED),
        (GOOD, verdict(Decision.REVISE, ABOUT), Outcome.FALSE_ALARM),
        (GOOD, verdict(Decision.DISCUSS), Outcome.DISCUSSED),
        (GOOD, None, Outcome.UNUSABLE),
    ],
)
def test_a_verdict_is_worth_what_the_rules_say(case: Case, given_verdict: Verdict | None, outcome: Outcome) -> None:
    assert score(case, given_verdict) is outcome


@pytest.mark.parametrize("section", ["2.5", "Section 2.5", "2", "10", "6, 10.1", "2.5 Logic Flow"])
def test_a_section_is_recognised_however_it_is_named(section: str) -> None:
    assert names_section(section, DEFECT.sections)


@pytest.mark.parametrize("section", ["", "12", "1", "2.4", "the whole", "25"])
def test_another_section_is_not(section: str) -> None:
    assert not names_section(section, DEFECT.sections)


@given(st.text(max_size=300), st.text(max_size=20), st.sampled_from(list(Tier)), st.sampled_from(list(Decision)))
def test_an_approval_is_never_a_catch_and_a_suggestion_never_makes_one(
    text: str, section: str, tier: Tier, decision: Decision
) -> None:
    outcome = score(BAD, verdict(decision, text, section, tier))
    if decision is Decision.APPROVED:
        assert outcome in (Outcome.NAMED, Outcome.MISSED)
    if tier is Tier.SUGGESTION:
        assert outcome not in (Outcome.CAUGHT, Outcome.NAMED)


@given(st.text(max_size=500), st.text(max_size=50))
def test_a_finding_without_any_term_is_never_about_the_defect(text: str, section: str) -> None:
    words = text.casefold()
    if not any(stem in words for stem in ("disk", "5", "oserror")):
        assert not is_about(Finding("F", Tier.HIGH, Category.QUALITY, section, text), DEFECT)


@given(st.integers(0, 200), st.integers(0, 200))
def test_wilsons_interval_holds_the_share_and_stays_within_0_and_1(part: int, more: int) -> None:
    share = Share(part, part + more)
    low, high = share.interval
    assert 0.0 <= low <= share.value <= high <= 1.0 or share.whole == 0


def test_wilsons_interval_has_the_known_values() -> None:
    assert Share(9, 10).describe() == "9 of 10 (60-98%)"
    assert Share(0, 3).describe() == "0 of 3 (0-56%)"
    assert Share(0, 0).describe() == "0 of 0 (0-100%)"


API = DefectClass.IMPOSSIBLE_API


def answers(*, controls: dict[Outcome, int], defects: dict[Outcome, int]) -> list[tuple[str, Outcome]]:
    """Return outcomes in these numbers."""
    counts = ((CLEAN, controls), (API, defects))
    return [(kind, outcome) for kind, group in counts for outcome, times in group.items() for _ in range(times)]


@pytest.mark.parametrize(
    ("controls", "defects", "worth", "said"),
    [
        ({Outcome.APPROVED: 6}, {Outcome.MISSED: 15}, Worth.RUBBER_STAMP, "rubber stamp: approves everything"),
        (
            {Outcome.APPROVED: 5, Outcome.FALSE_ALARM: 1},
            {Outcome.MISSED: 10, Outcome.NAMED: 3, Outcome.CAUGHT: 2},
            Worth.RUBBER_STAMP,
            "rubber stamp: approves 13 of 15 defective designs",
        ),
        (
            {Outcome.FALSE_ALARM: 6},
            {Outcome.CAUGHT: 15},
            Worth.CANNOT_TELL,
            "cannot tell good from bad: approves nothing",
        ),
        (
            {Outcome.APPROVED: 3, Outcome.DISCUSSED: 3},
            {Outcome.CAUGHT: 15},
            Worth.CANNOT_TELL,
            "cannot tell good from bad: holds up 3 of 6 clean designs",
        ),
        (
            {Outcome.APPROVED: 3},
            {Outcome.CAUGHT: 9, Outcome.MISSED: 1},
            Worth.USEFUL,
            "useful; catches 9 of 10 (60-98%), false alarms 0 of 3 (0-56%)",
        ),
        (
            {Outcome.APPROVED: 6},
            {Outcome.CAUGHT: 5, Outcome.MISSED: 10},
            Worth.OF_SOME_USE,
            "of some use: weakest at impossible-api; catches 5 of 15 (15-58%), false alarms 0 of 6 (0-39%); "
            "the intervals overlap, so this may be luck: use --repeat",
        ),
        ({Outcome.UNUSABLE: 6}, {Outcome.UNUSABLE: 4, Outcome.CAUGHT: 11}, Worth.UNUSABLE, "unusable: no verdict"),
        ({}, {Outcome.CAUGHT: 15}, Worth.UNKNOWN, "unknown: too little was answered to say anything"),
        ({Outcome.APPROVED: 6}, {}, Worth.UNKNOWN, "unknown"),
    ],
)
def test_a_reviewer_is_judged_by_both_numbers(
    controls: dict[Outcome, int], defects: dict[Outcome, int], worth: Worth, said: str
) -> None:
    counts = tally(answers(controls=controls, defects=defects))
    assert judge(counts) is worth
    assert say(counts).startswith(said)


@given(st.lists(st.tuples(st.sampled_from([CLEAN, *DefectClass]), st.sampled_from(list(Outcome)))))
def test_no_mixture_of_outcomes_is_without_a_judgement(results: list[tuple[str, Outcome]]) -> None:
    counts = tally(results)
    assert sum(counts.count(outcome) for outcome in Outcome) == len(results)
    assert say(counts)
    if judge(counts) is Worth.USEFUL:
        assert counts.catches.value >= 0.7
        assert counts.false_alarms.value <= 0.2
