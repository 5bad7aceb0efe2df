"""Findings of a review: tier, category, text, and what each rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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


class Basis(StrEnum):
    """What a finding rests on."""

    TEXT = "text"
    """The document and its source alone."""
    CODE = "code"
    """Lines of the repository, which it quotes."""
    PLATFORM = "platform"
    """A fact about the language or a library that a quoted line uses."""
    MEMORY = "memory"
    """Nothing that can be shown."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of a file, as it was quoted."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a review found; its id stays the same while it is open."""

    id: str
    tier: Tier
    category: Category
    section: str
    text: str
    basis: Basis = Basis.TEXT
    quotes: tuple[Quote, ...] = ()


Findings = Iterator[Finding]
NEEDS_QUOTE = frozenset({Basis.CODE, Basis.PLATFORM})
_LONGEST_PRAISE = 300
_PRAISE = re.compile(
    r"[*_ ]*(?:[\w /&-]{1,60}:)?[*_ \u2713\u2714\u2705]*"
    r"(?:pass(?:ed)?|ok(?:ay)?|fine|none|no (?:issues?|problems?|concerns?)(?: found)?)"
    r"[.!*_ ]*(?:\([^()]*\))?[.!*_ ]*",
    re.IGNORECASE,
)


def limit_tier(finding: Finding) -> Finding:
    """Return a finding with the tier that its basis can carry.

    What nobody can check must not hold up a document: a finding from memory, or about
    code that it does not quote, is a suggestion, and one about the platform is at most
    of high priority.
    """
    basis = finding.basis
    if basis in NEEDS_QUOTE and not finding.quotes:
        basis = Basis.MEMORY
    tier = finding.tier
    if basis is Basis.MEMORY:
        tier = Tier.SUGGESTION
    elif basis is Basis.PLATFORM and tier is Tier.BLOCKING:
        tier = Tier.HIGH
    return replace(finding, basis=basis, tier=tier)


def is_praise(text: str) -> bool:
    """Tell whether the text of a finding only says that something is fine."""
    return len(text) <= _LONGEST_PRAISE and _PRAISE.fullmatch(text) is not None


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


def on_one_line(text: str) -> str:
    """Join the lines of a text; blanks within a line stay, as they may be what a quoted
    text is about.
    """
    lines = text.splitlines()
    bare = map(str.strip, lines)
    return " ".join(filter(None, bare))


def shorten(text: str, limit: int = 160) -> str:
    """Return text on one line, cut to at most `limit` characters."""
    # Space is about to be removed, so look at more than the limit.
    beginning = text[: 2 * limit]
    flat = " ".join(beginning.split())
    if len(flat) <= limit:
        return flat
    return flat[: limit - 1].rstrip() + "…"
