"""Turn bold lines that open a section into headings."""

from __future__ import annotations

import re

from agentos.documents.lld.titles import read_label
from agentos.documents.markdown import LineKind, Lines

_BOLD = re.compile(r"\*\*(?=\d)([^|*]{1,114}[^|*#\s])\*\*:?\s*")
_FEW = 3


def promote_bold(lines: Lines) -> Lines:
    """Return the lines with `**3. Requirements**` as a heading.

    A section that already has a heading is left alone. If several sections are in bold,
    `**2.1 Files Changed**` becomes a heading too.
    """
    bold = _find_bold(lines)
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
            text=bold[index], kind=LineKind.HEADING, level=level
        )
    return tuple(changed)


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
