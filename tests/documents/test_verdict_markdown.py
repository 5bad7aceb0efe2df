"""What a review in Markdown says beside its decision, and that it comes back from its
own rendering.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.findings import is_praise
from agentos.documents.verdict import (
    Category,
    CoverageRow,
    Decision,
    Finding,
    ResolvedQuestion,
    Tier,
    Verdict,
    VerdictError,
    parse_verdict,
    read_verdict,
    render_verdict,
    verdict_json,
)
from agentos.documents.verdict.form import flat
from agentos.documents.verdict.model import number_findings
from tests.documents.verdicts.bases import APPROVED, OPENING, REVISE, TIERS, boxes

ODD_WORDS = r"""
**Resolved:** | \ , &#38; <!-- --> [x] - 1. # ~~ REVISE \u2028 **resolved: \\| ` ``` ( ) **APPROVED** None. Blocking: <details> : ** -> T1 Verdict
APPROVED <br> > N/A Summary B1 H1 ] [ . Verdict:_APPROVED -_[x]_APPROVED No_issues_found. Section_2.4 Verdict_is_REVISE
"""
ODD = st.sampled_from(
    [word.replace("_", " ") for word in ODD_WORDS.split()] + ["\n", " "]
)
PLAIN = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
TEXT = st.one_of(
    PLAIN, st.lists(st.one_of(ODD, st.text(max_size=6)), max_size=5).map("".join)
)
SOLID = TEXT.filter(lambda text: bool("".join(text.split())))
COMPLAINT = TEXT.filter(lambda text: not is_praise(flat(text)))
"""The text of a finding: praise is none, and is dropped when a verdict is read."""


def _without_contradiction(verdict: Verdict) -> Verdict:
    """Take from an approval what it must not have."""
    if verdict.decision is not Decision.APPROVED:
        return verdict
    lighter = tuple(
        finding for finding in verdict.findings if finding.tier is not Tier.BLOCKING
    )
    covered = tuple(replace(row, covered=True) for row in verdict.coverage)
    return replace(verdict, findings=lighter, questions=(), coverage=covered)


VERDICTS = st.builds(
    Verdict,
    st.sampled_from(Decision),
    SOLID,
    st.lists(
        st.builds(
            Finding,
            SOLID,
            st.sampled_from(Tier),
            st.sampled_from(Category),
            TEXT,
            COMPLAINT,
        ),
        max_size=5,
        unique_by=lambda finding: finding.id,
    ).map(tuple),
    st.lists(st.builds(ResolvedQuestion, TEXT, TEXT), max_size=3).map(tuple),
    st.lists(TEXT, max_size=3).map(tuple),
    st.lists(
        st.builds(
            CoverageRow,
            TEXT,
            TEXT,
            st.lists(TEXT, max_size=3).map(tuple),
            st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
).map(_without_contradiction)


def settle(verdict: Verdict) -> Verdict:
    """Return the verdict in the form that comes back from its Markdown: every text on
    one line, findings by tier and category, no empty question or scenario.
    """
    tiers, categories = list(Tier), list(Category)
    ordered = sorted(
        verdict.findings,
        key=lambda one: (tiers.index(one.tier), categories.index(one.category)),
    )
    findings = [
        replace(one, id=flat(one.id), section=flat(one.section), text=flat(one.text))
        for one in ordered
    ]
    resolved = [
        ResolvedQuestion(flat(one.question), flat(one.answer))
        for one in verdict.resolved_questions
    ]
    coverage = [
        CoverageRow(
            flat(row.requirement),
            flat(row.text),
            tuple(filter(None, map(flat, row.scenarios))),
            row.covered,
        )
        for row in verdict.coverage
    ]
    return Verdict(
        verdict.decision,
        flat(verdict.summary),
        number_findings(findings),
        tuple(resolved),
        tuple(filter(None, map(flat, verdict.questions))),
        tuple(coverage),
    )


def test_an_approval_keeps_its_findings_with_their_recommendations() -> None:
    verdict = read_verdict(APPROVED)
    assert verdict.decision is Decision.APPROVED
    assert verdict.summary.startswith("The ledger is small")
    assert [(f.id, f.tier, f.category, f.section) for f in verdict.findings] == [
        ("H1", Tier.HIGH, Category.ARCHITECTURE, "2.3"),
        ("H2", Tier.HIGH, Category.QUALITY, "10.1"),
        ("S1", Tier.SUGGESTION, Category.QUALITY, ""),
        ("S2", Tier.SUGGESTION, Category.QUALITY, ""),
    ]
    assert verdict.findings[0].text.endswith(
        "**Recommendation:** Give the ledger one owner and send it messages."
    )
    assert verdict.questions == ()


def test_coverage_and_resolved_questions_are_read() -> None:
    verdict = read_verdict(REVISE)
    assert verdict.decision is Decision.REVISE
    assert verdict.coverage == (
        CoverageRow(
            "1", "Every retry is written before it starts", ("T010", "T020"), True
        ),
        CoverageRow("2", "A torn line is skipped | reported", ("T030",), True),
        CoverageRow("3", "The ledger survives a full disk", (), False),
    )
    assert verdict.resolved_questions == (
        ResolvedQuestion(
            "Is the ledger kept after a run?",
            "Yes, for thirty days, then the next start removes it.",
        ),
        ResolvedQuestion(
            "May two runs share it?", "No. The second run waits for the lock."
        ),
    )


def test_ids_that_a_review_gives_are_kept_while_they_are_unique() -> None:
    listed = (
        "## Tier 3: SUGGESTIONS\n- **G1.2**: Again.\n- **H1** (4): A.\n- **H1**: B.\n"
    )
    text = REVISE.replace("## Tier 3: SUGGESTIONS\n", listed)
    found = read_verdict(text).findings
    assert [finding.id for finding in found] == [
        *("H2", "H3"),
        *("G1.2", "H1", "S1", "S2", "S3"),
    ]
    assert found[3].section == "4"


def test_questions_for_a_person_are_read() -> None:
    asked = TIERS.replace("1. None.", "1. Who pays?\n2. Until when?")
    verdict = read_verdict(OPENING + asked + boxes("d"))
    assert verdict.questions == ("Who pays?", "Until when?")


def test_findings_of_an_object_are_read_by_their_usual_names() -> None:
    verdict = read_verdict(
        """{"verdict": "BLOCK", "summary": "Not yet.", "confidence": 0.9,
        "blocking_issues": ["The token is logged.", {"issue": "No lock.", "section": "2"}],
        "issues": [{"severity": "major", "description": "Loose.", "category": "Quality"}],
        "suggestions": [{"id": "S7", "text": "Rename.", "recommendation": "Use a verb."}]}
        """
    )
    assert [(f.tier, f.section, f.text) for f in verdict.findings] == [
        (Tier.HIGH, "", "Loose."),
        (Tier.BLOCKING, "", "The token is logged."),
        (Tier.BLOCKING, "2", "No lock."),
        (Tier.SUGGESTION, "", "Rename. Recommendation: Use a verb."),
    ]
    assert verdict.findings[-1].id == "S7"


def test_an_error_names_the_line() -> None:
    text = OPENING + TIERS + boxes("ar")
    line = text[: text.index("[x] **REVISE**")].count("\n") + 1
    with pytest.raises(
        VerdictError, match=f"^line {line}: two boxes are checked"
    ) as caught:
        read_verdict(text)
    assert caught.value.line == line


def test_broken_json_names_its_line_in_the_answer() -> None:
    with pytest.raises(VerdictError) as caught:
        read_verdict(
            'My review:\n\n```json\n{\n "decision": "APPROVED",\n oops\n}\n```\n'
        )
    assert caught.value.line == 6


def test_an_error_without_a_place_has_line_0() -> None:
    with pytest.raises(VerdictError) as caught:
        read_verdict("")
    assert caught.value.line == 0


@given(VERDICTS)
def test_a_rendered_verdict_is_read_back_in_its_settled_form(verdict: Verdict) -> None:
    assert read_verdict(render_verdict(verdict, "T")) == settle(verdict)


@given(VERDICTS, TEXT)
def test_a_settled_verdict_is_read_back_exactly(verdict: Verdict, title: str) -> None:
    settled = settle(verdict)
    assert settle(settled) == settled
    rendered = render_verdict(settled, title)
    again = read_verdict(rendered)
    assert again == settled
    assert render_verdict(again, title) == rendered


@given(VERDICTS)
def test_a_settled_verdict_can_be_stored(verdict: Verdict) -> None:
    settled = settle(verdict)
    assert parse_verdict(verdict_json(settled)) == settled
    assert read_verdict(verdict_json(settled)) == settled
