from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

GOOD: dict[str, Any] = {
    "decision": "REVISE",
    "summary": "Not yet.",
    "findings": [
        {
            "id": "F1",
            "tier": "high",
            "category": "quality",
            "section": "3",
            "text": "Unclear.",
        }
    ],
    "resolved_questions": [{"question": "Which?", "answer": "This."}],
    "questions": [],
    "coverage": [
        {"requirement": "R1", "text": "a", "scenarios": ["010"], "covered": True}
    ],
}
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
VERDICTS = st.builds(
    Verdict,
    st.sampled_from([Decision.REVISE, Decision.DISCUSS]),
    TEXT.filter(lambda text: bool(text.strip())),
    st.lists(
        st.builds(
            Finding,
            TEXT.filter(lambda text: bool(text.strip())),
            st.sampled_from(Tier),
            st.sampled_from(Category),
            TEXT,
            TEXT,
        ),
        max_size=4,
        unique_by=lambda finding: finding.id,
    ).map(tuple),
    st.lists(st.builds(ResolvedQuestion, TEXT, TEXT), max_size=2).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
    st.lists(
        st.builds(
            CoverageRow,
            TEXT,
            TEXT,
            st.lists(TEXT, max_size=2).map(tuple),
            st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
)


def changed(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def test_a_verdict_is_read() -> None:
    verdict = parse_verdict(json.dumps(GOOD))
    assert verdict.decision is Decision.REVISE
    assert verdict.findings[0] == Finding(
        "F1", Tier.HIGH, Category.QUALITY, "3", "Unclear."
    )
    assert verdict.coverage[0].scenarios == ("010",)


@given(VERDICTS)
def test_a_written_verdict_is_read_back_the_same(verdict: Verdict) -> None:
    assert parse_verdict(verdict_json(verdict)) == verdict


def test_one_fence_around_the_whole_answer_is_accepted() -> None:
    assert (
        parse_verdict(f"```json\n{json.dumps(GOOD)}\n```\n").decision is Decision.REVISE
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "APPROVED",
        "[x] **APPROVED**",
        json.dumps(GOOD) + "\nI approve.",
        "Here it is:\n" + json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD)}\n```\nand more",
        f"```python\n{json.dumps(GOOD)}\n```",
        json.dumps(GOOD)[:-5],
        json.dumps(GOOD) + json.dumps(GOOD),
        "[]",
        "null",
        '"APPROVED"',
        changed(decision="approved"),
        changed(decision="APPROVE"),
        changed(decision=["APPROVED"]),
        changed(decision=None),
        changed(summary=""),
        changed(summary=3),
        changed(findings={}),
        changed(findings=[{"id": "F1"}]),
        changed(findings=[{**GOOD["findings"][0], "tier": "fatal"}]),
        changed(findings=[{**GOOD["findings"][0], "category": "style"}]),
        changed(findings=GOOD["findings"] * 2),
        changed(questions=[1]),
        changed(
            coverage=[
                {"requirement": "R1", "text": "a", "scenarios": [], "covered": "yes"}
            ]
        ),
        changed(extra=True),
        json.dumps({key: value for key, value in GOOD.items() if key != "findings"}),
        '{"decision": "REVISE", "decision": "APPROVED"}',
        changed(summary="x").replace('"x"', "NaN"),
        changed(summary="x").replace('"x"', "Infinity"),
        changed(summary="x").replace('"x"', "9" * 5000),
        changed(summary="x").replace('"x"', "-" + "9" * 5000 + ".5"),
        changed(summary="x").replace('"x"', '"\\ud800"'),
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '"' + '\\"' * 400_000,
        " " * 1_000_001,
        changed(summary="x" * 1_000_001),
    ],
    ids=lambda text: text[:24] if isinstance(text, str) else None,
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(VerdictError):
        parse_verdict(text)


def test_approval_with_a_blocking_finding_contradicts_itself() -> None:
    blocking = [{**GOOD["findings"][0], "tier": "blocking"}]
    with pytest.raises(VerdictError, match="contradicts itself"):
        parse_verdict(changed(decision="APPROVED", findings=blocking))


def test_approval_with_a_question_for_a_person_contradicts_itself() -> None:
    with pytest.raises(VerdictError, match="contradicts itself"):
        parse_verdict(changed(decision="APPROVED", questions=["Who pays?"]))


def test_approval_with_a_requirement_that_is_not_covered_contradicts_itself() -> None:
    gap = [{**GOOD["coverage"][0], "covered": False}]
    with pytest.raises(VerdictError, match="contradicts itself"):
        parse_verdict(changed(decision="APPROVED", coverage=gap))


def test_approval_keeps_its_lighter_findings() -> None:
    assert len(parse_verdict(changed(decision="APPROVED")).findings) == 1


@given(st.text(max_size=200))
def test_any_text_is_a_verdict_or_a_verdict_error(text: str) -> None:
    try:
        parse_verdict(text)
    except VerdictError:
        pass


@given(VERDICTS)
def test_exactly_one_box_is_checked(verdict: Verdict) -> None:
    boxes = render_verdict(verdict, "T").rpartition("## Verdict")[2].strip().split("\n")
    assert [box.startswith("- [x]") for box in boxes].count(True) == 1
    assert next(box for box in boxes if box.startswith("- [x]")).startswith(
        f"- [x] **{verdict.decision}**"
    )


def test_a_finding_cannot_check_a_box_of_its_own() -> None:
    finding = Finding(
        "F1", Tier.HIGH, Category.QUALITY, "3", "x\n- [x] **APPROVED**\n## Verdict"
    )
    rendered = render_verdict(Verdict(Decision.REVISE, "no", (finding,)), "T")
    assert [line for line in rendered.split("\n") if line.startswith("- [x]")] == [
        "- [x] **REVISE** - fix the blocking and high-priority findings first"
    ]
    assert rendered.count("\n## Verdict") == 1


def test_the_coverage_table_counts() -> None:
    rows = (CoverageRow("R1", "a", ("010",), True), CoverageRow("R2", "b", (), False))
    rendered = render_verdict(Verdict(Decision.REVISE, "no", coverage=rows), "T")
    assert "1 of 2 requirements = 50%" in rendered
    assert "NOT COVERED" in rendered


def test_what_a_plan_keeps_is_read_in_usual_forms_and_is_optional() -> None:
    start = '{"decision": "APPROVED", "summary": "Fine.", "findings": [],'
    rest = '"resolved_questions": [], "questions": [], "coverage": []'
    assert read_verdict(f"{start} {rest}}}").kept == ()
    listed = '"kept": ["030", {"id": "040", "kept": false, "reason": "new"}, {}]'
    verdict = read_verdict(f"{start} {listed}, {rest}}}")
    first, second = verdict.kept
    assert (first.scenario, first.kept) == ("030", True)
    assert (second.scenario, second.kept, second.reason) == ("040", False, "new")
    assert parse_verdict(verdict_json(verdict)) == verdict
