"""Take a line in bold for a heading where it stands for a section that has none."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.lld.titles import read_label
from agentos.documents.markdown import Kind, Line

_LONGEST = 120
_FEW = 3


def promote_bold(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return the lines with `**3. Requirements**` as a heading, unless section 3 has a heading already.

    Where several sections are written so, `**2.1 Files Changed**` is one as well.
    """
    bold = [
        (index, title) for index, line in enumerate(lines) if line.text[:2] == "**" and (title := _bold_title(line))
    ]
    if not bold:
        return lines
    known = _known(lines)
    levels: dict[int, int] = {}
    for index, title in bold:
        label = read_label(title)
        if label.whole_number and label.section and label.section not in known:
            known |= {label.section, label.whole_number}
            levels[index] = 2
    if len(levels) >= _FEW:
        levels |= {index: 3 for index, title in bold if "." in read_label(title).number}
    if not levels:
        return lines
    changed = list(lines)
    for index, title in bold:
        if index in levels:
            changed[index] = lines[index]._replace(text=title, kind=Kind.HEADING, level=levels[index])
    return tuple(changed)


def _bold_title(line: Line) -> str:
    """Return what a line says that is in bold from end to end and begins with a number, else nothing."""
    if line.kind is not Kind.TEXT or len(line.text) > _LONGEST:
        return ""
    row = line.text.rstrip().removesuffix(":")
    title = row[2:-2]
    if len(row) < 5 or not row.endswith("**") or title != title.strip() or title[-1:] in ("#", "*"):
        return ""
    return title if title[:1].isdigit() and "|" not in title and "**" not in title else ""


def _known(lines: Sequence[Line]) -> set[int]:
    """Return the sections that headings open; words alone tell only high up, since `Tests` may head a checklist."""
    heads = (line for line in lines if line.kind is Kind.HEADING and line.level <= 4)
    labels = [label for line in heads if (label := read_label(line.text)).whole_number or line.level <= 2]
    return {number for label in labels for number in (label.section, label.whole_number) if number}
