"""Find what a design declares to change: it counts before all else that it names."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.documents.lld import parse_lld

DESIGN = "design"
_SECTIONS = ("2.1", "2.4", "2.5")
"""The files, the signatures and the steps of what changes."""


@dataclass(frozen=True, slots=True)
class Focus:
    """What a design declares to change."""

    text: str = ""
    """The sections that name it."""
    paths: tuple[str, ...] = ()


def find_focus(
    source: str,
    called: str,
) -> Focus:
    """Return what a text declares to change; nothing if it is not called a design."""
    if called != DESIGN:
        return Focus()
    design = parse_lld(source)
    rows = []
    for number in _SECTIONS:
        section = design.subsections.get(number)
        if section is None:
            continue
        rows += [line.text for line in section.lines]
    text = "\n".join(rows)
    paths = [file.path for file in design.files]
    return Focus(text, tuple(paths))
