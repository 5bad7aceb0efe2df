"""Score the verdict on a case (pure).

A finding is about the defect if it is blocking or high and either names one of the
defect's sections and shares one of its terms, or shares two of its terms in any section.
A section alone is not enough: a reviewer that always complains about the same section
would seem to catch every defect there.
"""

from __future__ import annotations

import re
from enum import StrEnum

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.verdict import Decision, Verdict
from agentos.documents.words import keywords
from agentos.workflows.calibration.case_files import Case, Defect

TERMS_WITH_SECTION = 1
TERMS_ALONE = 2
_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2})?")


class CaseOutcome(StrEnum):
    """The outcome of one case."""

    CAUGHT = "caught"
    """Not approved, with a blocking or high finding about the defect."""
    ELSEWHERE = "revised-elsewhere"
    """Sent back, but not because of the defect."""
    NAMED = "approved-although-named"
    """Approved, with a high finding about the defect."""
    MISSED = "missed"
    """Approved without a finding about the defect."""
    APPROVED = "approved"
    """A control that was approved."""
    FALSE_ALARM = "false-alarm"
    """A control that was sent back."""
    DISCUSSED = "discussed"
    """A person was asked, but not about the defect."""
    UNUSABLE = "unusable"
    """No usable verdict, not even in the second answer."""


def score(case: Case, verdict: Verdict | None) -> CaseOutcome:
    """Return the outcome of a case; the verdict is None if the answer was unreadable."""
    if verdict is None:
        return CaseOutcome.UNUSABLE
    if case.defect is None:
        return {
            Decision.APPROVED: CaseOutcome.APPROVED,
            Decision.REVISE: CaseOutcome.FALSE_ALARM,
            Decision.DISCUSS: CaseOutcome.DISCUSSED,
        }[verdict.decision]
    is_named = bool(findings_about(case.defect, verdict))
    if verdict.decision is Decision.APPROVED:
        return CaseOutcome.NAMED if is_named else CaseOutcome.MISSED
    if is_named:
        return CaseOutcome.CAUGHT
    if verdict.decision is Decision.DISCUSS:
        return CaseOutcome.DISCUSSED
    return CaseOutcome.ELSEWHERE


def findings_about(defect: Defect, verdict: Verdict) -> tuple[Finding, ...]:
    """Return the blocking and high findings that are about the defect."""
    return tuple(
        finding
        for finding in verdict.findings
        if blocks_approval(finding) and is_about(finding, defect)
    )


def is_about(finding: Finding, defect: Defect) -> bool:
    """Tell whether a finding is about the defect."""
    words = keywords(finding.text)
    shared = 0
    for term in defect.terms:
        stems = keywords(term)
        if stems and stems <= words:
            shared += 1
    if names_section(finding.section, defect.sections):
        return shared >= TERMS_WITH_SECTION
    return shared >= TERMS_ALONE


def names_section(text: str, sections: tuple[str, ...]) -> bool:
    """Tell whether a text such as `2.5, 10.1` names one of the sections or its parent."""
    named = set(_NUMBER.findall(text[:200]))
    for section in sections:
        parent = section.partition(".")[0]
        if section in named or parent in named:
            return True
    return False
