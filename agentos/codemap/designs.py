"""The finished designs of the items that one depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentos.codemap.reading import Reader
from agentos.codemap.showing import CUT, cut_lines, mask_secrets, shorten
from agentos.documents.lld import parse_lld
from agentos.places import document_path
from agentos.task import Workflow

_DESIGN_LIMIT = 500_000
_SHOWN = ("2.1", "2.3", "2.4", "3")


def describe_designs(items: Sequence[str], reader: Reader, limit: int) -> Iterator[tuple[str, str]]:
    """Yield where the design of each item lies, and what others build on: its files, interfaces and promises."""
    share = limit // max(1, min(len(items), 4))
    for item in items:
        name = f"#{item}" if item.isdigit() else item
        active = document_path(Workflow.LLD, item)
        for path in (active, active.replace("/active/", "/done/")):
            text = reader.read(path, _DESIGN_LIMIT)
            clean = mask_secrets(path, text) if text else None
            if clean and (shown := _extract(clean, share)):
                yield f"`{path}` (the design of {name}, which this item depends on)", shown
                break


def _extract(text: str, limit: int) -> str:
    """Return the title and the sections, each cut to its part when they are too long together."""
    design = parse_lld(text)
    found = []
    for number in _SHOWN:
        section = design.subsections.get(number) or (design.sections.get(int(number)) if number.isdigit() else None)
        if section is not None and not section.is_empty:
            found.append((section.title, "\n".join(line.text for line in section.lines).strip()))
    parts = [f"**{shorten(design.title, 160)}**"] if design.title else []
    for title, body in found:
        kept, is_cut = cut_lines(f"{body}\n", limit // len(found))
        parts.append(f"**{shorten(title, 120)}**\n\n{kept.strip()}{CUT if is_cut else ''}")
    return "\n\n".join(parts) if found else ""
