"""What whoever writes the tests is told of the findings on a design."""

from __future__ import annotations

import json

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.ledger import (
    Ledger,
    LedgerFile,
    Said,
    read_ledger_file,
    record_plan_review,
    record_review,
    waive,
)
from agentos.documents.verdict import Decision, Verdict
from agentos.workflows.implementation.plan import plan_findings

SAID = Said("reviewer", "2026-11-19")


def finding(
    text: str, section: str = "10.1", tier: Tier = Tier.SUGGESTION
) -> tuple[Finding, ...]:
    """Return one finding."""
    return (Finding("N1", tier, Category.QUALITY, section, text),)


def reviewed(ledger: Ledger, found: tuple[Finding, ...], *, plan: bool) -> Ledger:
    """Return the ledger after an approval with a finding."""
    record = record_plan_review if plan else record_review
    verdict = Verdict(Decision.APPROVED, "Good.", found)
    return record(ledger, verdict, SAID, "text", "source")[0]


def test_open_findings_on_section_10_are_told_with_their_ids() -> None:
    high = finding("Name the message\nof the error.", tier=Tier.HIGH)
    ledger = reviewed(Ledger(), high, plan=False)
    assert plan_findings(ledger) == [
        "F1 (high, section 10.1): Name the message of the error."
    ]


def test_blanks_in_a_quoted_text_stay_as_they_are() -> None:
    text = "Expect `where bar = 1\\n  and baz = 2`,\n  with two blanks."
    ledger = reviewed(Ledger(), finding(text), plan=True)
    (line,) = plan_findings(ledger)
    assert "\\n  and baz = 2`, with two blanks." in line


def test_suggestions_of_the_plan_review_are_told_whatever_they_are_about() -> None:
    ledger = reviewed(Ledger(), finding("Try a negative number.", ""), plan=True)
    assert plan_findings(ledger) == ["F1 (suggestion): Try a negative number."]


def test_findings_about_tests_in_other_sections_are_told() -> None:
    ledger = reviewed(Ledger(), finding("The scenario of R2 is weak.", "3"), plan=False)
    assert len(plan_findings(ledger)) == 1


def test_other_findings_and_settled_ones_are_not_told() -> None:
    ledger = reviewed(Ledger(), finding("Bound the upload.", "8"), plan=False)
    ledger = reviewed(ledger, finding("Name the section.", "100"), plan=False)
    ledger = reviewed(ledger, finding("Try zero."), plan=True)
    ledger = waive(ledger, "F3", SAID, "not needed")
    assert plan_findings(ledger) == []


def test_a_plan_review_is_no_review_of_the_document_and_asks_nobody_for_it() -> None:
    verdict = Verdict(Decision.DISCUSS, "Unclear.", questions=("Which number?",))
    ledger, _ = record_plan_review(Ledger(), verdict, SAID, "text", "source")
    assert ledger.review_of("text", "source") is None
    assert ledger.plan_review_of("text", "source") is not None
    assert ledger.plan_review_of("text", "other answers") is None
    assert ledger.questions == ()


def test_a_ledger_of_before_there_were_plan_reviews_is_read() -> None:
    ledger = reviewed(Ledger(), finding("Try zero."), plan=False)
    text = LedgerFile(ledger, "source").to_json()
    data = json.loads(text)
    for review in data["ledger"]["reviews"]:
        for name in ("plan", "uncovered", "resolved_questions"):
            del review[name]
    assert read_ledger_file(json.dumps(data)).ledger == ledger
