"""Tell whether a design is all there, and nothing but a design: cut off, shrunk, or followed by an echo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentos.documents.blocks import Block, Code, Comment, Grid, Listing, Part, Prose, render_outline
from agentos.documents.echoes import find_delimiter, is_copy, is_order
from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.headings import plain
from agentos.documents.issue import Issue
from agentos.documents.lld.model import Lld
from agentos.documents.lld.titles import SECTION_TITLES, read_label
from agentos.documents.revisions import check_whole, has_shrunk

_LAST_MISSING = 2


def find_cut(lld: Lld) -> tuple[int, str] | None:
    """Return where and why a design seems to end in the middle, or None."""
    if lld.open_fence:
        return lld.open_fence, "the fence around the document is never closed"
    last = last_block(lld.parts)
    if isinstance(last, Code) and last.closing is None:
        return last.line, "this code block is never closed"
    if isinstance(last, Comment) and not last.lines[-1].endswith("-->"):
        return last.line, "this comment is never closed"
    row = cut_row(lld)
    if row:
        return row, "the last row of the last table ends in the middle"
    present = max(lld.sections, default=len(SECTION_TITLES))
    if present <= len(SECTION_TITLES) - _LAST_MISSING and len(lld.sections) == present and lld.log is None:
        line = lld.lines[-1].number if lld.lines else 1
        return line, f"it ends in section {present} of {len(SECTION_TITLES)}"
    return None


def last_block(parts: Sequence[Part]) -> Block | None:
    """Return the last block of a document."""
    return next((part.blocks[-1] for part in reversed(parts) if part.blocks), None)


def cut_row(lld: Lld) -> int:
    """Return the line of a last table row that ends in the middle, or 0."""
    last = last_block(lld.parts)
    if not isinstance(last, Grid) or not last.row_lines or not lld.lines:
        return 0
    number = last.row_lines[-1]
    written = next((line.number for line in reversed(lld.lines) if line.text.strip()), 0)
    if written != number or len(last.rows[-1]) > len(last.header):
        return 0
    first = lld.lines[0].number
    is_closed = lld.lines[number - first].text.rstrip().endswith("|")
    was_closed = lld.lines[last.line - first].text.rstrip().endswith("|")
    return number if was_closed and not is_closed else 0


def check_revision(lld: Lld, previous: Lld) -> Iterator[Finding]:
    """Yield what a revision lost of the draft before it."""
    last = lld.lines[-1].number if lld.lines else 1
    names = {_name(section.title) for section in lld.subsections.values()}
    for number, section in previous.subsections.items():
        if number in lld.subsections or _name(section.title) in names:
            continue
        place = lld.sections.get(int(number.partition(".")[0]))
        text = f"the revision lost subsection {section.title[:120]!r} of the previous draft."
        yield _high(f"lost-section-{number}", number, place.line if place else last, text)
    for name, before in previous.sections.items():
        now = lld.sections.get(name)
        if now is not None and has_shrunk(now.size, before.size):
            text = f"section {name} shrank from {before.size} lines to {now.size}; keep what no finding speaks of."
            yield _high(f"shrunk-section-{name}", str(name), now.line, text)
    lines = sum(section.size for section in lld.sections.values())
    lines_before = sum(section.size for section in previous.sections.values())
    yield from check_whole(lines, lines_before, len(lld.text), len(previous.text), last)


def _name(title: str) -> str:
    return plain(read_label(title).rest)


def check_echo(lld: Lld, issue: Issue) -> Iterator[Finding]:
    """Yield a finding when something follows the design that was only meant for its author."""
    found = _find_echo(lld, issue)
    if found:
        line, what = found
        yield _high("echo", "", line, f"{what}; it is no part of the design. End the document before this line.")


def _find_echo(lld: Lld, issue: Issue) -> tuple[int, str] | None:
    if lld.trailing:
        is_issue = is_copy(lld.trailing.split("\n"), issue.text)
        return lld.trailing_line, f"{'a copy of the issue' if is_issue else 'other text'} follows the design"
    mark = find_delimiter(lld.lines)
    if mark is not None:
        return mark, "here stands a mark of the prompt"
    last = max(lld.sections, key=lambda number: lld.sections[number].line, default=0)
    if not last:
        return None
    tail = lld.sections[last].parts
    ends = max(part.end for part in tail)
    for part in lld.parts:
        if part.line > ends and is_copy(render_outline([part]).split("\n"), issue.text):
            return part.line, "a copy of the issue follows the design"
    return _find_order(tail[-1], issue)


def _find_order(part: Part, issue: Issue) -> tuple[int, str] | None:
    """Look for words to the model, or the issue once more, after the last list or table of a design."""
    lists = [n for n, block in enumerate(part.blocks) if isinstance(block, Listing | Grid)]
    for block in part.blocks[lists[-1] + 1 if lists else 0 :]:
        if isinstance(block, Prose):
            if any(is_order(row) for row in block.lines):
                return block.line, "an instruction to the author follows the design"
            if lists and is_copy(block.lines, issue.text):
                return block.line, "a copy of the issue follows the design"
    return None


def _high(id: str, section: str, line: int, text: str) -> Finding:
    return Finding(id, Tier.HIGH, Category.QUALITY, section, f"Line {line}: {text}")
