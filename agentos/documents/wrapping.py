"""Find the document in a model's answer: without greeting, outer fence and farewell.

This works on rows and not on parsed Markdown, because no parser sees a fence around a
document that contains fences as one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.markdown import (
    fence_opening,
    heading_level,
    is_fence_close,
    list_marker,
    split_lines,
)

Rows = Sequence[str]

_MAX_PREAMBLE = 12
_MAX_FAREWELL = 12
_MAX_LAYERS = 4
_PLAIN = frozenset({"", "md", "markdown", "text", "txt", "plaintext", "plain"})
_THINKING = ("think", "thinking", "scratchpad", "analysis")
_RULES = frozenset({"---", "***", "___"})
_GREETINGS = tuple(
    """\
here is|here's|here are|below is|below you|the following|as requested|sure|certainly
of course|okay|ok,|ok.|alright|absolutely|great|thanks|thank you|understood|got it
i have|i've|i will|i'll|i am|i'm|now i|let me|based on|after reviewing|looking at
this is the|my design|my draft|please find|happy to""".replace("\n", "|").split("|")
)
_FAREWELLS = tuple(
    """\
let me know|please let me know|feel free|i hope|hope this|would you like|if you'd like
if you would like|if you want me|if you need|if you have any|shall i|should i |happy to
do you want me|i'm happy|i am happy|i can also|i can now|is there anything|please review
looking forward|end of answer|end of response""".replace("\n", "|").split("|")
)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of an answer that make up the document, from `start` up to `end`."""

    start: int
    end: int
    open_fence: int | None = None
    """The row of an unclosed fence around the document."""

    @property
    def open_line(self) -> int:
        """Return the line number of the unclosed fence, or 0."""
        if self.open_fence is None:
            return 0
        return self.open_fence + 1


def unwrap(text: str) -> str:
    """Return the document in a model's answer, with line feeds as line ends.

    An unclosed fence around it is kept: it shows that the answer was cut off.
    """
    rows = split_lines(text)
    window = find_document(rows)
    start = window.start
    if window.open_fence is not None:
        start = window.open_fence
    start, end = _trim(rows, start, window.end)
    if start == end:
        return ""
    return "\n".join(rows[start:end]) + "\n"


def find_document(rows: Rows) -> Window:
    """Return the rows of an answer that make up the document."""
    window = Window(0, len(rows))
    # Layers may be nested, such as a greeting before a fence.
    for _ in range(_MAX_LAYERS):
        inner = _peel(rows, window)
        if inner == window:
            break
        window = inner
        if window.open_fence is not None:
            break
    return window


def _peel(rows: Rows, window: Window) -> Window:
    """Remove one layer: a preamble, a fence around the document, or a farewell."""
    first, end = _trim(rows, window.start, window.end)
    if first == end:
        return window
    start = after_thinking(rows, first, end)
    anchor = _find_anchor(rows, start, end)
    if anchor is None:
        return window
    is_first = anchor == start
    is_greeting = not is_first and _is_greeting(rows[start:anchor])
    is_fence = fence_opening(rows[anchor]) is not None
    if is_fence and (is_first or is_greeting):
        inner = _inside_fence(rows, anchor, end)
        if inner is not None:
            return inner
    kept = window.start
    is_after_thinking = is_first and start > first
    # Text above the first heading goes only if it reads as a greeting or follows a
    # thinking block: to keep a stray preamble is better than to lose a part.
    has_preamble = is_greeting or is_after_thinking
    if has_preamble and not is_fence:
        kept = anchor
    end = _before_farewell(rows, anchor, window.end)
    return Window(kept, end)


def _trim(rows: Rows, start: int, end: int) -> tuple[int, int]:
    """Return the range without blank rows at both ends."""
    while start < end and not rows[start].strip():
        start += 1
    while start < end and not rows[end - 1].strip():
        end -= 1
    return start, end


def after_thinking(rows: Rows, start: int, end: int) -> int:
    """Skip a block such as `<thinking> ... </thinking>` at the very beginning."""
    opening = rows[start].strip().casefold()
    for name in _THINKING:
        if not opening.startswith(f"<{name}>"):
            continue
        for index in range(start, end):
            row = rows[index].strip().casefold()
            if row.endswith(f"</{name}>"):
                after, _ = _trim(rows, index + 1, end)
                return after
    return start


def _find_anchor(rows: Rows, start: int, end: int) -> int | None:
    """Return the first heading or fence near the beginning."""
    seen = 0
    for index in range(start, end):
        row = rows[index]
        if heading_level(row) or fence_opening(row):
            return index
        if row.strip():
            seen += 1
        if seen > _MAX_PREAMBLE:
            break
    return None


def _is_greeting(rows: Rows) -> bool:
    written = _written(rows)
    for row in written:
        if row.startswith(("|", ">", "---")):
            return False
        if list_marker(row) is not None:
            return False
        if "<!--" in row:
            return False
    return _bare(written[0]).startswith(_GREETINGS)


def _written(rows: Rows) -> list[str]:
    """Return the rows that are not blank, without the space around them."""
    stripped = map(str.strip, rows)
    return list(filter(None, stripped))


def _bare(row: str) -> str:
    """Return the beginning of a row in lower case, without emphasis."""
    beginning = row[:200].lstrip("*_ ").casefold()
    return beginning.replace("\u2019", "'")


def _inside_fence(rows: Rows, anchor: int, end: int) -> Window | None:
    """Return the content of a fence around the document, or None for a code block.

    The fences inside the document pair up from the top. So the mark that closes the
    outer fence is left over, and looks like the opening of a block without an end.
    """
    mark, info = fence_opening(rows[anchor]) or ("", "")
    if info.casefold() not in _PLAIN:
        return None
    begin = anchor + 1
    first, _ = _trim(rows, begin, end)
    if first >= end:
        return None
    # A document begins with a heading, unlike most code.
    if not 0 < heading_level(rows[first]) <= 3:
        return None
    unclosed = Window(begin, end, open_fence=anchor)
    opened = _find_open_fence(rows, begin, end)
    if opened is None:
        return unclosed
    after = rows[opened + 1 : end]
    is_closing = is_fence_close(rows[opened], mark)
    if is_closing and _introduces_code(rows, begin, opened):
        is_closing = False
    if is_closing and _is_remark(after):
        return Window(begin, opened)
    # The document goes on after the fence, which was only a code block in it.
    if any(map(heading_level, after)):
        return None
    return unclosed


def _find_open_fence(rows: Rows, start: int, end: int) -> int | None:
    """Return the row of the fence that is open at the end, or None."""
    mark = ""
    opened = 0
    for index in range(start, end):
        row = rows[index]
        if mark:
            if mark in row and is_fence_close(row, mark):
                mark = ""
            continue
        opening = None
        if "```" in row or "~~~" in row:
            opening = fence_opening(row)
        if opening:
            mark, _ = opening
            opened = index
    if not mark:
        return None
    return opened


def _introduces_code(rows: Rows, start: int, end: int) -> bool:
    """Tell whether the last row that is not blank is a heading or ends with a colon."""
    _, end = _trim(rows, start, end)
    if start == end:
        return False
    row = rows[end - 1]
    if heading_level(row):
        return True
    return row.rstrip("* ").endswith(":")


def _is_remark(rows: Rows) -> bool:
    """Tell whether the rows after the closing fence only address the reader."""
    written = _written(rows)
    if not written:
        return True
    if len(written) > _MAX_FAREWELL:
        return False
    for row in written:
        if heading_level(row) or row.startswith("|"):
            return False
    first = written[0]
    if " " not in first:
        return False
    text = first.lstrip("*_ ")
    return text[:1].isalpha()


def _before_farewell(rows: Rows, anchor: int, end: int) -> int:
    """Return the end of the rows without the farewell of the model."""
    kept = end
    for _ in range(_MAX_LAYERS):
        begin = _last_paragraph(rows, anchor, kept)
        if not _is_farewell(rows, anchor, begin, kept):
            break
        kept = begin
        _, end = _trim(rows, anchor, kept)
        last = end - 1
        if last > anchor and rows[last].strip() in _RULES:
            kept = last
    return kept


def _last_paragraph(rows: Rows, anchor: int, end: int) -> int:
    """Return where the last paragraph begins; a very long one is cut."""
    _, begin = _trim(rows, anchor, end)
    highest = max(anchor, begin - _MAX_FAREWELL - 2)
    for index in range(begin - 1, highest, -1):
        row = rows[index].rstrip()
        if not row or row.endswith("-->"):
            break
        if "|" in row or heading_level(row):
            break
        if fence_opening(row):
            break
        begin = index
    return begin


def _is_farewell(rows: Rows, anchor: int, begin: int, end: int) -> bool:
    """Tell whether the last paragraph addresses the reader and is not in a code block."""
    written = _written(rows[begin:end])
    if not 0 < len(written) <= _MAX_FAREWELL:
        return False
    if not _bare(written[0]).startswith(_FAREWELLS):
        return False
    for row in written:
        if "<!--" in row or heading_level(row):
            return False
        if list_marker(row) is not None:
            return False
    start, last = _trim(rows, anchor + 1, begin)
    if start == last:
        return False
    return _find_open_fence(rows, anchor, begin) is None
