"""Describe the finished designs that an item depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentos.documents.lld import parse_lld, status_of
from agentos.documents.provenance import SIMULATED_STATUS, SKELETON_STATUS
from agentos.kinds import Kind
from agentos.repository.look.asking import Range
from agentos.repository.look.masking import show_name
from agentos.repository.look.opening import FileRefused, read_file
from agentos.repository.look.showing import fit, number_lines
from agentos.repository.look.texts import FileText, read_text
from agentos.repository.paths import document_path

_LONGEST = 500_000
_SUBSECTIONS = ("2.1", "2.3", "2.4")
_SECTION = 3
_UNSEEN = (SKELETON_STATUS, SIMULATED_STATUS)
"""Statuses of designs that no model has seen; nothing is built on them."""
_MOST_DESIGNS = 4


def describe_designs(root: Path, items: Sequence[str], limit: int) -> Iterator[str]:
    """Yield what others build on of each item's design: files, interfaces and
    promises.
    """
    share = limit // max(1, min(len(items), _MOST_DESIGNS))
    for item in items[:_MOST_DESIGNS]:
        name = item
        if item.isdigit():
            name = f"#{item}"
        active = document_path(Kind.LLD, item)
        done = active.replace("/active/", "/done/")
        for path in (active, done):
            rows = _extract(root, path)
            if not rows:
                continue
            shown = show_name(path)
            head = f"#### `{shown}` (the design of {name}, which this item depends on)"
            yield fit([head, "", *rows], share)
            break


def _extract(root: Path, path: str) -> list[str]:
    """Return the numbered lines of the title and of the sections.

    A design that no model has seen is not shown.
    """
    try:
        data = read_file(root, path)
        text = read_text(path, data)
    except FileRefused:
        return []
    if len(text.source) > _LONGEST:
        return []
    design = parse_lld(text.source)
    if status_of(design).upper() in _UNSEEN:
        return []
    sections = [design.subsections.get(number) for number in _SUBSECTIONS]
    sections.append(design.sections.get(_SECTION))
    ranges = []
    for section in sections:
        if section is None or section.is_empty:
            continue
        ranges.append((section.line, section.end))
    if not ranges:
        return []
    return _number(text, ranges)


def _number(text: FileText, ranges: Sequence[Range]) -> list[str]:
    first, _ = min(ranges)
    title = []
    for number, line in enumerate(text.lines[: first - 1], 1):
        if line.startswith("# "):
            title = [(number, number)]
            break
    return number_lines(text.lines, [*title, *ranges])
