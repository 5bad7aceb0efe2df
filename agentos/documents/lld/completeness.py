"""Tell whether a design is complete, and where something else follows it."""

from __future__ import annotations

from agentos.documents import cutoff
from agentos.documents.cutoff import Cut
from agentos.documents.echoes import find_delimiter, is_copy
from agentos.documents.findings import Findings, quality_finding
from agentos.documents.headings import plain
from agentos.documents.issue import Issue
from agentos.documents.lld.model import Lld
from agentos.documents.lld.titles import SECTION_TITLES, read_label
from agentos.documents.revisions import compare_section, compare_whole

_LAST_MISSING = 2


def find_cut(lld: Lld) -> Cut | None:
    """Return where and why a design seems to be cut off, or None."""
    cut = cutoff.find_cut(lld.text, lld.lines, lld.open_fence)
    if cut is not None:
        return cut
    count = len(SECTION_TITLES)
    present = max(lld.sections, default=count)
    has_gaps = len(lld.sections) != present
    if has_gaps or lld.log is not None:
        return None
    if present > count - _LAST_MISSING:
        return None
    line = last_line(lld)
    return line, f"it ends in section {present} of {count}"


def last_line(lld: Lld) -> int:
    """Return the number of the last line."""
    if not lld.lines:
        return 1
    return lld.lines[-1].number


def check_revision(lld: Lld, previous: Lld) -> Findings:
    """Yield a finding for each section that a revision lost, a hint if it shrank."""
    last = last_line(lld)
    names = {_name(section.title) for section in lld.subsections.values()}
    for dotted, section in previous.subsections.items():
        if dotted in lld.subsections:
            continue
        if _name(section.title) in names:
            continue
        number, _, _ = dotted.partition(".")
        line = last
        whole = lld.sections.get(int(number))
        if whole:
            line = whole.line
        title = section.title[:120]
        text = f"the revision lost subsection {title!r} of the previous draft."
        yield quality_finding(
            f"lost-section-{dotted}",
            dotted,
            line,
            text,
        )
    for name, before in previous.sections.items():
        now = lld.sections.get(name)
        if now is not None:
            number = str(name)
            yield from compare_section(number, number, now.line, now.size, before.size)
    yield from compare_whole(
        _size(lld),
        _size(previous),
        len(lld.text),
        len(previous.text),
        last,
    )


def _size(lld: Lld) -> int:
    return sum(section.size for section in lld.sections.values())


def _name(title: str) -> str:
    label = read_label(title)
    return plain(label.rest)


def find_echo(lld: Lld, issue: Issue) -> Cut | None:
    """Return where text follows the design that seems to be no part of it, or None."""
    if lld.trailing:
        what = "other text"
        rows = lld.trailing.split("\n")
        if is_copy(rows, issue.text):
            what = "a copy of the issue"
        return lld.trailing_line, f"{what} follows the design"
    delimiter = find_delimiter(lld.lines)
    if delimiter is not None:
        return delimiter, "a delimiter of the prompt was copied"
    if not lld.sections:
        return None
    last = max(lld.sections.values(), key=lambda section: section.line)
    for part in lld.parts:
        if part.line <= last.end:
            continue
        rows = [line.text for line in part.body]
        rows.insert(0, part.title)
        if is_copy(rows, issue.text):
            return part.line, "a copy of the issue follows the design"
    return None
