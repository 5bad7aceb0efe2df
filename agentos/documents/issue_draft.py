"""Tell whether a drafted issue is all there: cut off, shrunk, or followed by an echo of its prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentos.documents.blocks import Code, Comment, Grid, Part, Prose, read_outline, render_outline
from agentos.documents.echoes import find_delimiter, is_copy, is_order
from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.headings import Topic, plain, topic_of
from agentos.documents.markdown import Line, scan_rows, split_lines
from agentos.documents.revisions import check_whole, has_shrunk
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


@dataclass(frozen=True, slots=True)
class IssueDraft:
    """A drafted issue with its parts and lines."""

    parts: tuple[Part, ...]
    lines: tuple[Line, ...]
    size: int
    inner: str | None = None
    """The document itself, where something stood around it."""
    open_fence: int = 0

    @property
    def last_line(self) -> int:
        """Return the number of the last line."""
        return self.lines[-1].number if self.lines else 1

    def line_of(self, title: str) -> int:
        """Return the line of the first heading with these words, else the last line."""
        return next((part.line for part in self.parts if plain(part.title) == title), self.last_line)

    def section_of(self, line: int) -> str:
        """Return the title of the part that a line belongs to."""
        index = bisect_right(self.parts, line, key=lambda part: part.line) - 1
        return self.parts[index].title if index >= 0 else ""

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return line and number of written lines of each second-level section, by its plain title."""
        found: dict[str, tuple[int, int]] = {}
        name = ""
        for part in self.parts:
            if part.level == 2:
                name = plain(part.title)
                found.setdefault(name, (part.line, 0))
            elif part.level < 2:
                name = ""
            if name:
                line, count = found[name]
                rows = render_outline([part]).split("\n")
                found[name] = (line, count + sum(bool(row.strip()) for row in rows) - (part.level == 2))
        return found


def read_draft(text: str) -> IssueDraft:
    """Read a drafted issue; lines are counted in the text as given."""
    rows = split_lines(text)
    window = find_document(rows)
    lines = scan_rows(rows[window.start : window.end], window.start + 1)
    open_fence = 0 if window.open_fence is None else window.open_fence + 1
    inner = None
    if (window.start, window.end) != (0, len(rows)):
        inner = "\n".join(rows[window.start : window.end])
    return IssueDraft(read_outline(lines), lines, len(text), inner, open_fence)


def find_cut(draft: IssueDraft) -> tuple[int, str] | None:
    """Return where and why a draft seems to end in the middle, or None."""
    if draft.open_fence:
        return draft.open_fence, "the fence around the document is never closed"
    last = next((part.blocks[-1] for part in reversed(draft.parts) if part.blocks), None)
    if isinstance(last, Code) and last.closing is None:
        return last.line, "this code block is never closed"
    if isinstance(last, Comment) and not last.lines[-1].endswith("-->"):
        return last.line, "this comment is never closed"
    if isinstance(last, Grid) and last.rows and len(last.rows[-1]) < len(last.header):
        return last.row_lines[-1], "the last row of the last table ends in the middle"
    return None


def find_echo(draft: IssueDraft, brief: str) -> tuple[int, str] | None:
    """Return where a copy of the brief or of the prompt follows the issue, or None."""
    mark = find_delimiter(draft.lines)
    if mark is not None:
        return mark, "here stands a mark of the prompt"
    known = [n for n, part in enumerate(draft.parts) if part.level and topic_of(part.title) is not None]
    last_new = _last_new_topic(draft.parts)
    for index in range(known[0] + 1 if known else len(draft.parts), len(draft.parts)):
        part = draft.parts[index]
        name = plain(part.title) if part.level <= 2 else ""
        if name in _ECHOES and (index > last_new or name not in _AMBIGUOUS):
            return part.line, "what the author was given follows the issue"
    tail = draft.parts[-1]
    for block in tail.blocks if known else ():
        if isinstance(block, Prose):
            if any(is_order(row) for row in block.lines):
                return block.line, "an instruction to the author follows the issue"
            if is_copy(block.lines, brief) and len(block.lines) > 3:
                return block.line, "a copy of the brief follows the issue"
    return None


def _last_new_topic(parts: Sequence[Part]) -> int:
    """Return where the last part begins that is about something new."""
    seen: set[Topic] = set()
    last = -1
    for index, part in enumerate(parts):
        topic = topic_of(part.title) if part.level else None
        if topic is not None and topic not in seen:
            seen.add(topic)
            last = index
    return last


def check_lost(draft: IssueDraft, previous: IssueDraft) -> Iterator[Finding]:
    """Yield what a revision lost of the draft before it."""
    now, before = draft.sizes(), previous.sizes()
    for name, (_, size) in before.items():
        if name not in now:
            if size and name not in _ECHOES:
                slug = name.replace(" ", "-")[:60]
                text = f"the revision lost the section {name[:80]!r} of the previous draft."
                yield _high(f"lost-section-{slug}", name[:80], draft.last_line, text)
        elif has_shrunk(now[name][1], size):
            text = f"the section {name[:80]!r} shrank from {size} lines to {now[name][1]}."
            yield _high(f"shrunk-section-{name.replace(' ', '-')[:60]}", name[:80], now[name][0], text)
    lines = sum(size for _, size in now.values())
    lines_before = sum(size for _, size in before.values())
    yield from check_whole(lines, lines_before, draft.size, previous.size, draft.last_line)


def _high(id: str, section: str, line: int, text: str) -> Finding:
    return Finding(id, Tier.HIGH, Category.QUALITY, section, f"Line {line}: {text}")
