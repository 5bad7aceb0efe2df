"""Write who reviewed a document, what was found, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.findings import Finding, Tier
from agentos.documents.headings import plain
from agentos.documents.markdown import Kind, scan, sections, split_lines
from agentos.documents.tables import render_table
from agentos.documents.verdict import Decision, Verdict

LOG_TITLE = "Appendix: Review Log"


@dataclass(frozen=True, slots=True)
class Review:
    """One review: its number, who gave it, when, and the verdict."""

    number: int
    reviewer: str
    date: str
    verdict: Verdict


def append_log(text: str, *, status: str, reviews: Sequence[Review], stamp: str) -> str:
    """Return the document with a fresh review log, its final status and a closing stamp."""
    body = _without_log(text, stamp).rstrip().removesuffix("---").rstrip()
    parts = [body, "---", f"## {LOG_TITLE}"]
    parts.extend(_render_review(review, following) for review, following in _with_next(reviews))
    parts.append(_render_summary(reviews))
    parts.append(f"**Final Status:** {status}")
    if stamp:
        parts.append(" ".join(stamp.split()))
    return "\n\n".join(parts) + "\n"


def _with_next(reviews: Sequence[Review]) -> list[tuple[Review, Review | None]]:
    return list(zip(reviews, [*reviews[1:], None], strict=False))


def _without_log(text: str, stamp: str) -> str:
    """Cut an earlier review log and earlier stamps, and close a fence that was left open."""
    lines = scan(text)
    rows = split_lines(text)
    cut: set[int] = set()
    for section in sections(lines):
        if section.level == 2 and plain(section.title) in (plain(LOG_TITLE), "review log"):
            cut.update(range(section.line, section.line + len(section.whole) + 1))
    mark = " ".join(stamp.split()[:2])
    for line in lines:
        is_code = line.kind in (Kind.CODE, Kind.FENCE)
        if mark and not is_code and rows[line.number - 1].strip().startswith(mark):
            cut.add(line.number)
    kept = [row for number, row in enumerate(rows, 1) if number not in cut]
    return "\n".join([*kept, *_open_fence(kept)])


def _open_fence(rows: Sequence[str]) -> list[str]:
    fences = [line for line in scan("\n".join(rows)) if line.kind is Kind.FENCE]
    if len(fences) % 2 == 0:
        return []
    opening = fences[-1].text.strip()
    mark = opening[0]
    return [mark * (len(opening) - len(opening.lstrip(mark)))]


def _render_review(review: Review, following: Review | None) -> str:
    verdict = review.verdict
    head = (
        f"### Review #{review.number} ({verdict.decision})\n\n"
        f"**Reviewer:** {_flat(review.reviewer)}\n**Date:** {_flat(review.date)}\n**Verdict:** {verdict.decision}\n\n"
        f"{_flat(verdict.summary)}"
    )
    if not verdict.findings:
        return f"{head}\n\nNo findings."
    rows = [(f.id, str(f.tier), f.section or "-", f.text, _became(f, review, following)) for f in verdict.findings]
    return f"{head}\n\n{render_table(('ID', 'Tier', 'Section', 'Finding', 'Resolved?'), rows)}"


def _is_still_open(finding: Finding, following: Review) -> bool:
    return any(other.id == finding.id for other in following.verdict.findings)


def _became(finding: Finding, review: Review, following: Review | None) -> str:
    if following is not None:
        if _is_still_open(finding, following):
            return f"NO - found again in review #{following.number}"
        return f"YES - not found again in review #{following.number}"
    if finding.tier is Tier.SUGGESTION:
        return "NOTED - for the implementation"
    if review.verdict.decision is Decision.APPROVED:
        return "OPEN - approved with this finding"
    return "OPEN - no later review"


def _render_summary(reviews: Sequence[Review]) -> str:
    rows = [
        (
            f"#{review.number}",
            review.date,
            review.reviewer,
            str(review.verdict.decision),
            f"{len(review.verdict.findings)}",
            review.verdict.findings[0].text if review.verdict.findings else "-",
        )
        for review in reviews
    ]
    table = render_table(("Review", "Date", "Reviewer", "Verdict", "Findings", "Key finding"), rows)
    return "### Review Summary\n\n" + (table if rows else "No review took place.")


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("<!--", "&lt;!--")
