"""Find what is wrong with a drafted issue as a whole.

It may be cut off, have lost sections, or be followed by an echo of its prompt.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentos.documents import cutoff
from agentos.documents.cutoff import Cut
from agentos.documents.echoes import find_delimiter, is_copy
from agentos.documents.findings import Finding, quality_finding
from agentos.documents.headings import Topic, plain, topic_of
from agentos.documents.markdown import (
    Line,
    Section,
    prose_rows,
    scan_rows,
    sections,
    split_lines,
)
from agentos.documents.revisions import compare_section, compare_whole
from agentos.documents.wrapping import find_document

_ECHOES = (
    "original brief",
    "brief",
    "instructions",
    "prompt",
    "previous draft",
    "findings to resolve",
    "what to write",
)
_AMBIGUOUS = ("instructions", "prompt")
_Sizes = dict[str, tuple[int, int]]
"""The first line and the number of lines of each section, by its plain title."""


@dataclass(frozen=True, slots=True)
class IssueDraft:
    """A drafted issue with its sections and lines."""

    text: str
    sections: tuple[Section, ...]
    lines: tuple[Line, ...]
    inner: str | None = None
    """The document itself, if other text surrounds it."""
    open_fence: int = 0

    @property
    def last_line(self) -> int:
        """Return the number of the last line."""
        if not self.lines:
            return 1
        last = self.lines[-1]
        return last.number

    def line_of(self, title: str) -> int:
        """Return the line of the first heading with this title, or the last line."""
        for section in self.sections:
            if plain(section.title) == title:
                return section.line
        return self.last_line

    def text_of(self, line: int) -> str:
        """Return the text of a line."""
        first = self.lines[0].number
        return self.lines[line - first].text

    def section_of(self, line: int) -> str:
        """Return the title of the section that a line belongs to."""
        after = bisect_right(self.sections, line, key=lambda section: section.line)
        if not after:
            return ""
        section = self.sections[after - 1]
        return section.title

    def sizes(self) -> _Sizes:
        """Return the position and size of each second-level section."""
        found: _Sizes = {}
        for section in self.sections:
            if section.level != 2:
                continue
            name = plain(section.title)
            first, size = found.get(name, (section.line, 0))
            for line in section.whole:
                if line.text.strip():
                    size += 1
            found[name] = (first, size)
        return found


def read_draft(text: str) -> IssueDraft:
    """Read a drafted issue; line numbers refer to the given text."""
    rows = split_lines(text)
    window = find_document(rows)
    shown = rows[window.start : window.end]
    lines = scan_rows(shown, window.start + 1)
    inner = None
    if len(shown) < len(rows):
        inner = "\n".join(shown)
    return IssueDraft(
        text=text,
        sections=sections(lines),
        lines=lines,
        inner=inner,
        open_fence=window.open_line,
    )


def find_cut(draft: IssueDraft) -> Cut | None:
    """Return where and why a draft seems to be cut off, or None."""
    return cutoff.find_cut(draft.text, draft.lines, draft.open_fence)


def find_echo(draft: IssueDraft, brief: str) -> Cut | None:
    """Return where a copy of the brief or of the prompt follows the issue, or None."""
    delimiter = find_delimiter(draft.lines)
    if delimiter is not None:
        return delimiter, "a delimiter of the prompt was copied"
    new = _new_topics(draft.sections)
    if not new:
        return None
    first_new = new[0]
    last_new = new[-1]
    for section in draft.sections:
        if section.line <= first_new or section.level > 2:
            continue
        name = plain(section.title)
        if name not in _ECHOES:
            continue
        # A section of the issue may have such a title as long as new topics follow.
        if name in _AMBIGUOUS and section.line <= last_new:
            continue
        return section.line, "a copy of the brief or the prompt follows the issue"
    last = draft.sections[-1]
    for line, rows in prose_rows(last.body).items():
        if is_copy(rows, brief):
            return line, "a copy of the brief follows the issue"
    return None


def _new_topics(found: Sequence[Section]) -> list[int]:
    """Return the lines of the sections that begin a new topic."""
    seen: set[Topic | None] = {None}
    lines = []
    for section in found:
        topic = topic_of(section.title)
        if topic not in seen:
            seen.add(topic)
            lines.append(section.line)
    return lines


def check_lost(draft: IssueDraft, previous: IssueDraft) -> Iterator[Finding]:
    """Yield a finding for each section that a revision lost, a hint if it shrank."""
    now = draft.sizes()
    before = previous.sizes()
    lines_before = 0
    for name, (_, size) in before.items():
        lines_before += size
        title = name[:80]
        slug = name.replace(" ", "-")
        slug = slug[:60]
        if name in now:
            line, left = now[name]
            yield from compare_section(slug, title, line, left, size)
        elif size and name not in _ECHOES:
            text = f"the revision lost the section {title!r} of the previous draft."
            line = draft.last_line
            yield quality_finding(f"lost-section-{slug}", title, line, text)
    lines = sum(size for _, size in now.values())
    yield from compare_whole(
        lines,
        lines_before,
        len(draft.text),
        len(previous.text),
        draft.last_line,
    )
