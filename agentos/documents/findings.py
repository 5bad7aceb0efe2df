"""What a review finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How much a finding weighs."""

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
    """One thing a review found; its id stays the same while the finding stays open."""

    id: str
    tier: Tier
    category: Category
    section: str
    text: str


def blocks_approval(finding: Finding) -> bool:
    """Tell whether a document with this finding may not be approved by rules."""
    return finding.tier in (Tier.BLOCKING, Tier.HIGH)


def without_repeats(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep the first finding of each id, heaviest tier first."""
    order = list(Tier)
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.id, finding)
    return tuple(sorted(first.values(), key=lambda finding: order.index(finding.tier)))
