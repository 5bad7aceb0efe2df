"""Scripted reviews, for tests of everything around a review."""

from __future__ import annotations

import re
from dataclasses import replace

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict import (
    Decision,
    EarlierFinding,
    EarlierState,
    Verdict,
)

_OPEN = re.compile(r"^- (F[0-9]+) \(", re.MULTILINE)

_SCRIPT: tuple[tuple[Category, str, str], ...] = (
    (Category.OBSERVABILITY, "11", "Name the sign by which an operator sees trouble."),
    (Category.ARCHITECTURE, "2.7", "Say in which order the files are changed."),
    (Category.QUALITY, "5", "Say who keeps the fixtures up to date."),
    (Category.SAFETY, "7.2", "Describe how the change is taken back after a week."),
    (Category.COST, "8", "Give a bound for memory on the largest input."),
    (Category.SECURITY, "7.1", "State whose rights decide about the new call."),
    (Category.QUALITY, "10.1", "Isolate the scenarios from one another."),
    (Category.ARCHITECTURE, "2.4", "Choose one shape for an empty result."),
    (Category.LEGAL, "9", "Say how long personal names stay in logs."),
    (Category.OBSERVABILITY, "8.1", "Record durations where they are promised."),
    (Category.SAFETY, "2.5", "Validate before anything is written."),
    (Category.QUALITY, "12", "Name the page of the documentation that changes."),
)
"""A different finding for each round: a repeated one would count as a stalled review.
"""


def script_revise(verdict: Verdict, round: int, earlier_findings: str) -> Verdict:
    """Return the verdict as a scripted request for one more round, in which everything
    that was found before is resolved.
    """
    earlier = [
        EarlierFinding(id, EarlierState.RESOLVED, "as scripted")
        for id in _OPEN.findall(earlier_findings)
    ]
    category, section, text = _SCRIPT[(round - 1) % len(_SCRIPT)]
    finding = Finding(f"scripted-{round}", Tier.HIGH, category, section, text)
    return replace(
        verdict,
        decision=Decision.REVISE,
        summary=f"Scripted round {round} of a simulation.",
        findings=(finding,),
        questions=(),
        earlier=tuple(earlier),
    )


def script_discuss(verdict: Verdict) -> Verdict:
    """Return the verdict as a scripted request for a person's decision."""
    question = "Scripted by a simulation: shall this item be built at all?"
    return replace(
        verdict,
        decision=Decision.DISCUSS,
        summary="Scripted discussion of a simulation.",
        questions=(question,),
    )


def let_pass(verdict: Verdict, round: int) -> Verdict:
    """Return the verdict of the round in which a simulation ends."""
    return replace(verdict, summary=f"Simulated: the draft passes in round {round}.")
