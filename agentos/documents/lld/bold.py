"""Turn bold or underlined lines that open a section into headings."""

from __future__ import annotations

import re
from itertools import pairwise

from agentos.documents.lld.titles import read_label
from agentos.documents.markdown import LineKind, Lines

_BOLD = re.compile(r"\*\*(?=\d)([^|*]{1,114}[^|*#\s])\*\*:?\s*")
_UNDERLINE = re.compile(r"-{3,}|={3,}")
_FEW = 3


def promote_bold(lines: Lines) -> Lines:
    """Return the lines with `**3. Requirements**` as a heading.

    A section that already has a heading is left alone. If several sections are in bold,
    `**2.1 Files Changed**` becomes a heading too. So does `3. Requirements` above a line
    of dashes, which Markdown reads as a list.
    """
    underlined = _find_underlined(lines)
    bold = {**_find_bold(lines), **underlined}
    if not bold:
        return lines
    known = _find_known(lines)
    levels: dict[int, int] = {}
    for index, title in bold.items():
        label = read_label(title)
        number = label.whole_number
        section = label.section
        if not number or not section:
            continue
        if section not in known:
            known.add(section)
            known.add(number)
            levels[index] = 2
    if len(levels) >= _FEW:
        for index, title in bold.items():
            label = read_label(title)
            if "." in label.number:
                levels[index] = 3
    changed = list(lines)
    for index, level in levels.items():
        changed[index] = lines[index]._replace(
            text=bold[index], kind=LineKind.HEADING, level=level, depth=0, item=0
        )
        if index in underlined:
            below = index + 1
            changed[below] = lines[below]._replace(
                text="", kind=LineKind.UNDERLINE, depth=0
            )
    return tuple(changed)


def _find_underlined(lines: Lines) -> dict[int, str]:
    """Return the list items that are a section's title above a line of dashes."""
    found = {}
    pairs = pairwise(lines)
    for index, (line, below) in enumerate(pairs):
        if not line.item:
            continue
        signs = below.text.strip()
        if not _UNDERLINE.fullmatch(signs):
            continue
        text = line.text.strip()
        label = read_label(text)
        if line.is_text and label.section:
            found[index] = text
    return found


def _find_bold(lines: Lines) -> dict[int, str]:
    """Return the lines that are entirely bold and begin with a number."""
    found = {}
    for index, line in enumerate(lines):
        if not line.is_text:
            continue
        match = _BOLD.fullmatch(line.text)
        if match:
            found[index] = match[1]
    return found


def _find_known(lines: Lines) -> set[int]:
    """Return the sections that have a heading.

    Below the second level only numbers count: `Tests` may be the title of a checklist.
    """
    known = set()
    for line in lines:
        if not 0 < line.level <= 4:
            continue
        label = read_label(line.text)
        number = label.whole_number
        if number or line.level <= 2:
            known.add(label.section or 0)
            known.add(number)
    return known
