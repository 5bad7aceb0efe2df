"""Describe the finished designs that an item depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentos.documents.lld import parse_lld, status_of
from agentos.documents.provenance import SIMULATED_STATUS, SKELETON_STATUS
from agentos.kinds import Kind
from agentos.repository.context.reading import Reader
from agentos.repository.context.showing import cut_lines, mask_secrets, shorten
from agentos.repository.paths import document_path

_DESIGN_LIMIT = 500_000
_SUBSECTIONS = ("2.1", "2.3", "2.4")
_SECTION = 3
_UNSEEN = (SKELETON_STATUS, SIMULATED_STATUS)
"""Statuses of designs that no model has seen; nothing is built on them."""


def describe_designs(
    items: Sequence[str], reader: Reader, limit: int
) -> Iterator[tuple[str, str]]:
    """Yield the path of each item's design and what others build on: files, interfaces
    and promises.
    """
    share = limit // max(1, min(len(items), 4))
    for item in items:
        name = item
        if item.isdigit():
            name = f"#{item}"
        active = document_path(Kind.LLD, item)
        done = active.replace("/active/", "/done/")
        for path in (active, done):
            shown = _extract(path, reader, share)
            if shown:
                title = f"`{path}` (the design of {name}, which this item depends on)"
                yield title, shown
                break


def _extract(path: str, reader: Reader, limit: int) -> str:
    """Return the title and the sections, each cut to an equal share of the limit.

    A design that no model has seen is not shown.
    """
    text = reader.read(path, _DESIGN_LIMIT)
    if text is None:
        return ""
    masked = mask_secrets(path, text)
    if not masked:
        return ""
    design = parse_lld(masked)
    if status_of(design).upper() in _UNSEEN:
        return ""
    sections = [design.subsections.get(number) for number in _SUBSECTIONS]
    sections.append(design.sections.get(_SECTION))
    found = []
    for section in sections:
        if section is None:
            continue
        if section.is_empty:
            continue
        found.append(section)
    if not found:
        return ""
    parts = []
    if design.title:
        parts.append(f"**{shorten(design.title, 160)}**")
    share = limit // len(found)
    for section in found:
        lines = [line.text for line in section.lines]
        body = "\n".join(lines).strip()
        kept, remark = cut_lines(f"{body}\n", share)
        title = shorten(section.title, 120)
        parts.append(f"**{title}**\n\n{kept.strip()}{remark}")
    return "\n\n".join(parts)
