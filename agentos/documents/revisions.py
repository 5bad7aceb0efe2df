"""Tell a reviewer when a revision shrank or grew a lot."""

from __future__ import annotations

from agentos.documents.findings import Findings
from agentos.documents.hints import hint

_LONG_SECTION = 10
_LONG_DOCUMENT = 40
_KEPT_OF_SECTION = 0.5
_KEPT_OF_WHOLE = 0.6
_MAX_GROWTH = 2
_LARGE = 20_000


def compare_section(
    name: str, section: str, line: int, lines: int, before: int
) -> Findings:
    """Yield a hint if a long section lost more than half of its lines."""
    if before > _LONG_SECTION and lines < before * _KEPT_OF_SECTION:
        text = (
            f"section {section[:80]!r} had {before} lines and has {lines}. Is anything"
            " lost that no finding is about?"
        )
        yield hint(f"shrunk-section-{name}", section, line, text)


def compare_whole(
    lines: int, before: int, size: int, size_before: int, last_line: int
) -> Findings:
    """Yield a hint if a whole document shrank or grew a lot."""
    if before > _LONG_DOCUMENT and lines < before * _KEPT_OF_WHOLE:
        text = (
            f"the previous draft had {before} lines, this one has {lines}. Is anything"
            " lost that no finding is about?"
        )
        yield hint("shrunk", "", last_line, text)
    if size > _LARGE and size > _MAX_GROWTH * size_before:
        text = (
            f"the revision grew from {size_before} to {size} characters. Did a finding"
            " ask for what was added?"
        )
        yield hint("grown", "", last_line, text)
