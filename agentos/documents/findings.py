"""Findings of a review: tier, category and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How severe a finding is."""

    BLOCKING = "blocking"
    HIGH = "high"
    SUGGESTION = "suggestion"


class Category(StrEnum):
    """What a finding is about."""

    COST = "cost"
    SAFETY = "safety"
    SECURITY = "security"
    LEGAL = "legal"
    ARCHITECTURE = "architecture"
    OBSERVABILITY = "observability"
    QUALITY = "quality"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a review found; its id stays the same while it is open."""

    id: str
    tier: Tier
    category: Category
    section: str
    text: str


Findings = Iterator[Finding]


def blocks_approval(finding: Finding) -> bool:
    """Tell whether a document with this finding must not be approved."""
    return finding.tier in (Tier.BLOCKING, Tier.HIGH)


def without_repeats(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the first finding of each id, the most severe tier first."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.id, finding)
    tiers = list(Tier)
    ordered = sorted(first.values(), key=lambda finding: tiers.index(finding.tier))
    return tuple(ordered)


def quality_finding(
    id: str, section: str, line: int, text: str, tier: Tier = Tier.HIGH
) -> Finding:
    """Return a finding about the quality of a document; its text names the line."""
    return Finding(id, tier, Category.QUALITY, section, f"Line {line}: {text}")


def shorten(text: str, limit: int = 160) -> str:
    """Return text on one line, cut to at most `limit` characters."""
    # Space is about to be removed, so look at more than the limit.
    beginning = text[: 2 * limit]
    flat = " ".join(beginning.split())
    if len(flat) <= limit:
        return flat
    return flat[: limit - 1].rstrip() + "…"
