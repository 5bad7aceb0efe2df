"""Write the review log of a document: reviewers, findings, what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from agentos.documents.findings import Finding, Tier
from agentos.documents.headings import plain
from agentos.documents.markdown import (
    closing_fence,
    scan,
    scan_rows,
    sections,
    split_lines,
)
from agentos.documents.provenance import RECORDED, RECORDED_STATUS
from agentos.documents.tables import render_table
from agentos.documents.verdict import Decision, Verdict

LOG_TITLE = "Appendix: Review Log"
_LOG_TITLES = (plain(LOG_TITLE), "review log")


@dataclass(frozen=True, slots=True)
class Review:
    """One review and its verdict."""

    number: int
    reviewer: str
    date: str
    verdict: Verdict


def finalize_document(
    text: str, *, item: str, status: str, reviews: Sequence[Review], provenance: str
) -> str:
    """Return the document with its review log, its status and its provenance."""
    del item
    return append_log(text, status=status, reviews=reviews, provenance=provenance)


def append_log(
    text: str, *, status: str, reviews: Sequence[Review], provenance: str
) -> str:
    """Return the document with a new review log, its final status and its provenance.

    `provenance` is the last line, a comment, and may be empty.
    """
    body = _without_log(text, provenance).rstrip()
    # The rule was written above an earlier log.
    body = body.removesuffix("---").rstrip()
    parts = [body, "---", f"## {LOG_TITLE}"]
    for review, following in zip_longest(reviews, reviews[1:]):
        rendered = _render_review(review, following)
        parts.append(rendered)
    parts.append(_render_summary(reviews))
    parts.append(f"**Final Status:** {status}")
    if provenance:
        parts.append(" ".join(provenance.split()))
    return "\n\n".join(parts) + "\n"


def _without_log(text: str, provenance: str) -> str:
    """Cut earlier review logs and provenance lines, and close an open fence."""
    lines = scan(text)
    cut: set[int] = set()
    for section in sections(lines):
        if section.level == 2 and plain(section.title) in _LOG_TITLES:
            last = section.line + 1
            if section.whole:
                last = section.whole[-1].number
            cut.update(range(section.line, last + 1))
    # The first two words are the same in every version of the line.
    beginning = " ".join(provenance.split()[:2])
    rows = []
    for line, row in zip(lines, split_lines(text), strict=True):
        if line.number in cut:
            continue
        is_provenance = beginning and row.strip().startswith(beginning)
        if is_provenance and not line.is_code:
            continue
        rows.append(row)
    closing = closing_fence(scan_rows(rows))
    if closing:
        rows.append(closing)
    return "\n".join(rows)


def _render_review(review: Review, following: Review | None) -> str:
    verdict = review.verdict
    decision = _say_decision(review)
    head = (
        f"### Review #{review.number} ({decision})\n\n**Reviewer:**"
        f" {_flat(review.reviewer)}\n**Date:** {_flat(review.date)}\n**Verdict:**"
        f" {decision}\n\n{_flat(verdict.summary)}"
    )
    if not verdict.findings:
        return f"{head}\n\nNo findings."
    rows = []
    for finding in verdict.findings:
        section = finding.section or "-"
        outcome = _outcome(finding, review, following)
        rows.append((finding.id, finding.tier, section, finding.text, outcome))
    table = render_table(("ID", "Tier", "Section", "Finding", "Resolved?"), rows)
    return f"{head}\n\n{table}"


def _say_decision(review: Review) -> str:
    """Return the decision; an approval from a recorded answer says so."""
    decision = review.verdict.decision
    if decision is Decision.APPROVED and review.reviewer == RECORDED:
        return RECORDED_STATUS
    return str(decision)


def _outcome(finding: Finding, review: Review, following: Review | None) -> str:
    if following is not None:
        for other in following.verdict.findings:
            if other.id == finding.id:
                return f"NO - found again in review #{following.number}"
        return f"YES - not found again in review #{following.number}"
    if finding.tier is Tier.SUGGESTION:
        return "NOTED - for the implementation"
    if review.verdict.decision is Decision.APPROVED:
        return "OPEN - approved with this finding"
    return "OPEN - no later review"


def _render_summary(reviews: Sequence[Review]) -> str:
    if not reviews:
        return "### Review Summary\n\nNo review took place."
    rows = []
    for review in reviews:
        findings = review.verdict.findings
        first = "-"
        if findings:
            first = findings[0].text
        row = (
            f"#{review.number}",
            review.date,
            review.reviewer,
            _say_decision(review),
            str(len(findings)),
            first,
        )
        rows.append(row)
    table = render_table(
        ("Review", "Date", "Reviewer", "Verdict", "Findings", "Key finding"), rows
    )
    return f"### Review Summary\n\n{table}"


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("<!--", "&lt;!--")
