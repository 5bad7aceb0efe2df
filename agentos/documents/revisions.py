"""Compare a revision with the previous draft: it must not lose anything."""

from __future__ import annotations

from agentos.documents.findings import Category, Finding, Findings, Tier

LONG_SECTION = 10
_LONG_DOCUMENT = 40
_KEPT_OF_SECTION = 0.5
_KEPT_OF_WHOLE = 0.6
_MAX_GROWTH = 2
_LARGE = 20_000


def has_shrunk(lines: int, before: int) -> bool:
    """Tell whether a long section lost more than half of its lines."""
    return before > LONG_SECTION and lines < before * _KEPT_OF_SECTION


def check_whole(
    lines: int, before: int, size: int, size_before: int, last_line: int
) -> Findings:
    """Yield a finding if a whole document shrank or grew too much."""
    if before > _LONG_DOCUMENT and lines < before * _KEPT_OF_WHOLE:
        text = (
            f"Line {last_line}: the revision ends here with {lines} lines; the previous"
            f" draft had {before}. Keep everything that no finding is about."
        )
        yield Finding("shrunk", Tier.HIGH, Category.QUALITY, "", text)
    if size > _LARGE and size > _MAX_GROWTH * size_before:
        text = (
            f"Line {last_line}: the revision grew from {size_before} to {size}"
            " characters; resolve the findings without adding what nobody asked for."
        )
        yield Finding("grown", Tier.SUGGESTION, Category.QUALITY, "", text)
