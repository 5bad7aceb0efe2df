"""Decide what a verdict on a case was worth (pure).

A finding is about the defect when it is blocking or high and either names one of the defect's sections and shares one
of its terms, or shares two of its terms wherever it stands. A section alone is not enough: a reviewer that always
complains of the same section would seem to catch whatever lies there.
"""

from __future__ import annotations

import re
from enum import StrEnum

from agentos.calibration.case_files import Case, Defect
from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.verdict import Decision, Verdict
from agentos.documents.words import keywords

TERMS_WITH_SECTION = 1
TERMS_ALONE = 2
_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2})?")


class Outcome(StrEnum):
    """What became of one case."""

    CAUGHT = "caught"
    """Not approved, with a blocking or high finding about the defect."""
    ELSEWHERE = "revised-elsewhere"
    """Sent back, and not for the defect."""
    NAMED = "approved-although-named"
    """Approved, with a high finding about the defect."""
    MISSED = "missed"
    """Approved, and nothing said."""
    APPROVED = "approved"
    """A control that was approved."""
    FALSE_ALARM = "false-alarm"
    """A control that was sent back."""
    DISCUSSED = "discussed"
    """A person was asked, and not about the defect."""
    UNUSABLE = "unusable"
    """No usable verdict, also not in the second answer."""


def score(case: Case, verdict: Verdict | None) -> Outcome:
    """Return what a verdict on a case was worth; None is an answer that is no verdict."""
    if verdict is None:
        return Outcome.UNUSABLE
    if case.defect is None:
        return {
            Decision.APPROVED: Outcome.APPROVED,
            Decision.REVISE: Outcome.FALSE_ALARM,
            Decision.DISCUSS: Outcome.DISCUSSED,
        }[verdict.decision]
    is_named = bool(findings_about(case.defect, verdict))
    if verdict.decision is Decision.APPROVED:
        return Outcome.NAMED if is_named else Outcome.MISSED
    if is_named:
        return Outcome.CAUGHT
    return Outcome.DISCUSSED if verdict.decision is Decision.DISCUSS else Outcome.ELSEWHERE


def findings_about(defect: Defect, verdict: Verdict) -> tuple[Finding, ...]:
    """Return the blocking and high findings that are about the defect."""
    return tuple(finding for finding in verdict.findings if blocks_approval(finding) and is_about(finding, defect))


def is_about(finding: Finding, defect: Defect) -> bool:
    """Tell whether a finding is about the defect."""
    words = keywords(finding.text)
    shared = sum(bool(stems) and stems <= words for stems in map(keywords, defect.terms))
    needed = TERMS_WITH_SECTION if names_section(finding.section, defect.sections) else TERMS_ALONE
    return shared >= needed


def names_section(text: str, sections: tuple[str, ...]) -> bool:
    """Tell whether one of the sections, or the one that it is part of, is named in a text such as `2.5, 10.1`."""
    named = set(_NUMBER.findall(text[:200]))
    return any(section in named or section.partition(".")[0] in named for section in sections)
