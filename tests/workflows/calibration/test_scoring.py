"""What counts as a catch, as a false alarm, and what a reviewer is worth by that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict import Decision, Verdict
from agentos.workflows.calibration.case_files import CLEAN, Case, Defect, DefectClass
from agentos.workflows.calibration.judgment import Share, Worth, judge, say, tally
from agentos.workflows.calibration.scoring import (
    CaseOutcome,
    is_about,
    names_section,
    score,
)

DEFECT = Defect(
    DefectClass.MISSING_ERROR_PATH,
    ("2.5", "10.1"),
    ("full disk", "exit code 5", "OSError"),
)
BAD = Case("bad", "1", "", "", "", DEFECT)
GOOD = Case("good", "1", "", "", "")
ABOUT = "With a full disk step 6 raises, and nothing catches it."
ELSE = "The diagram lacks the reader."


def verdict(
    decision: Decision, text: str = "", section: str = "2.5", tier: Tier = Tier.HIGH
) -> Verdict:
    """Return a verdict with one finding, or none."""
    findings = (Finding("F1", tier, Category.QUALITY, section, text),) if text else ()
    return Verdict(decision, "Said.", findings)


@pytest.mark.parametrize(
    ("case", "given_verdict", "outcome"),
    [
        (BAD, verdict(Decision.REVISE, ABOUT), CaseOutcome.CAUGHT),
        (BAD, verdict(Decision.REVISE, ABOUT, tier=Tier.BLOCKING), CaseOutcome.CAUGHT),
        (BAD, verdict(Decision.DISCUSS, ABOUT), CaseOutcome.CAUGHT),
        (
            BAD,
            verdict(Decision.REVISE, ABOUT, tier=Tier.SUGGESTION),
            CaseOutcome.ELSEWHERE,
        ),
        (BAD, verdict(Decision.REVISE, ABOUT, section="6"), CaseOutcome.ELSEWHERE),
        (
            BAD,
            verdict(Decision.REVISE, f"{ABOUT} The exit code must be 5.", section=""),
            CaseOutcome.CAUGHT,
        ),
        (BAD, verdict(Decision.REVISE, ELSE), CaseOutcome.ELSEWHERE),
        (BAD, verdict(Decision.REVISE), CaseOutcome.ELSEWHERE),
        (BAD, verdict(Decision.DISCUSS, ELSE), CaseOutcome.DISCUSSED),
        (BAD, verdict(Decision.APPROVED, ABOUT), CaseOutcome.NAMED),
        (BAD, verdict(Decision.APPROVED, ELSE), CaseOutcome.MISSED),
        (BAD, verdict(Decision.APPROVED), CaseOutcome.MISSED),
        (BAD, None, CaseOutcome.UNUSABLE),
        (GOOD, verdict(Decision.APPROVED, ABOUT), CaseOutcome.APPROVED),
        (GOOD, verdict(Decision.REVISE, ABOUT), CaseOutcome.FALSE_ALARM),
        (GOOD, verdict(Decision.DISCUSS), CaseOutcome.DISCUSSED),
        (GOOD, None, CaseOutcome.UNUSABLE),
    ],
)
def test_a_verdict_is_worth_what_the_rules_say(
    case: Case, given_verdict: Verdict | None, outcome: CaseOutcome
) -> None:
    assert score(case, given_verdict) is outcome


@pytest.mark.parametrize(
    "section", ["2.5", "Section 2.5", "2", "10", "6, 10.1", "2.5 Logic Flow"]
)
def test_a_section_is_recognised_however_it_is_named(section: str) -> None:
    assert names_section(section, DEFECT.sections)


@pytest.mark.parametrize("section", ["", "12", "1", "2.4", "the whole", "25"])
def test_another_section_is_not(section: str) -> None:
    assert not names_section(section, DEFECT.sections)


@given(
    st.text(max_size=300),
    st.text(max_size=20),
    st.sampled_from(list(Tier)),
    st.sampled_from(list(Decision)),
)
def test_an_approval_is_never_a_catch_and_a_suggestion_never_makes_one(
    text: str, section: str, tier: Tier, decision: Decision
) -> None:
    outcome = score(BAD, verdict(decision, text, section, tier))
    if decision is Decision.APPROVED:
        assert outcome in (CaseOutcome.NAMED, CaseOutcome.MISSED)
    if tier is Tier.SUGGESTION:
        assert outcome not in (CaseOutcome.CAUGHT, CaseOutcome.NAMED)


@given(st.text(max_size=500), st.text(max_size=50))
def test_a_finding_without_any_term_is_never_about_the_defect(
    text: str, section: str
) -> None:
    words = text.casefold()
    if not any(stem in words for stem in ("disk", "5", "oserror")):
        assert not is_about(
            Finding("F", Tier.HIGH, Category.QUALITY, section, text), DEFECT
        )


@given(st.integers(0, 200), st.integers(0, 200))
def test_wilsons_interval_holds_the_share_and_stays_within_0_and_1(
    part: int, more: int
) -> None:
    share = Share(part, part + more)
    low, high = share.interval
    assert 0.0 <= low <= share.value <= high <= 1.0 or share.whole == 0


def test_wilsons_interval_has_the_known_values() -> None:
    assert Share(9, 10).describe() == "9 of 10 (60-98%)"
    assert Share(0, 3).describe() == "0 of 3 (0-56%)"
    assert Share(0, 0).describe() == "0 of 0 (0-100%)"


API = DefectClass.IMPOSSIBLE_API


def answers(
    *, controls: dict[CaseOutcome, int], defects: dict[CaseOutcome, int]
) -> list[tuple[str, CaseOutcome]]:
    """Return outcomes in these numbers."""
    counts = ((CLEAN, controls), (API, defects))
    return [
        (kind, outcome)
        for kind, group in counts
        for outcome, times in group.items()
        for _ in range(times)
    ]


@pytest.mark.parametrize(
    ("controls", "defects", "worth", "said"),
    [
        (
            {CaseOutcome.APPROVED: 6},
            {CaseOutcome.MISSED: 15},
            Worth.RUBBER_STAMP,
            "rubber stamp: approves everything",
        ),
        (
            {CaseOutcome.APPROVED: 5, CaseOutcome.FALSE_ALARM: 1},
            {CaseOutcome.MISSED: 10, CaseOutcome.NAMED: 3, CaseOutcome.CAUGHT: 2},
            Worth.RUBBER_STAMP,
            "rubber stamp: approves 13 of 15 defective designs",
        ),
        (
            {CaseOutcome.FALSE_ALARM: 6},
            {CaseOutcome.CAUGHT: 15},
            Worth.CANNOT_TELL,
            "cannot tell good from bad: approves nothing",
        ),
        (
            {CaseOutcome.APPROVED: 3, CaseOutcome.DISCUSSED: 3},
            {CaseOutcome.CAUGHT: 15},
            Worth.CANNOT_TELL,
            "cannot tell good from bad: holds up 3 of 6 clean designs",
        ),
        (
            {CaseOutcome.APPROVED: 3},
            {CaseOutcome.CAUGHT: 9, CaseOutcome.MISSED: 1},
            Worth.USEFUL,
            "useful; catches 9 of 10 (60-98%), false alarms 0 of 3 (0-56%)",
        ),
        (
            {CaseOutcome.APPROVED: 6},
            {CaseOutcome.CAUGHT: 5, CaseOutcome.MISSED: 10},
            Worth.OF_SOME_USE,
            "of some use: weakest at impossible-api; catches 5 of 15 (15-58%), false alarms 0 of 6 (0-39%); "
            "the intervals overlap, so this may be luck: use --repeat",
        ),
        (
            {CaseOutcome.UNUSABLE: 6},
            {CaseOutcome.UNUSABLE: 4, CaseOutcome.CAUGHT: 11},
            Worth.UNUSABLE,
            "unusable: no verdict",
        ),
        (
            {},
            {CaseOutcome.CAUGHT: 15},
            Worth.UNKNOWN,
            "unknown: too little was answered to say anything",
        ),
        ({CaseOutcome.APPROVED: 6}, {}, Worth.UNKNOWN, "unknown"),
    ],
)
def test_a_reviewer_is_judged_by_both_numbers(
    controls: dict[CaseOutcome, int],
    defects: dict[CaseOutcome, int],
    worth: Worth,
    said: str,
) -> None:
    counts = tally(answers(controls=controls, defects=defects))
    assert judge(counts) is worth
    assert say(counts).startswith(said)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([CLEAN, *DefectClass]), st.sampled_from(list(CaseOutcome))
        )
    )
)
def test_no_mixture_of_outcomes_is_without_a_judgement(
    results: list[tuple[str, CaseOutcome]],
) -> None:
    counts = tally(results)
    assert sum(counts.count(outcome) for outcome in CaseOutcome) == len(results)
    assert say(counts)
    if judge(counts) is Worth.USEFUL:
        assert counts.catches.value >= 0.7
        assert counts.false_alarms.value <= 0.2
