"""Find the document in a model's answer: without greeting, outer fence and farewell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.markdown import fence_opening, heading_level, is_fence_close, list_marker, split_lines

_LONGEST_PREAMBLE = 12
_LONGEST_FAREWELL = 12
_MOST_LAYERS = 4
_PLAIN = frozenset({"", "md", "markdown", "text", "txt", "plaintext", "plain"})
_THINKING = ("think", "thinking", "scratchpad", "analysis")
_GREETINGS = (
    *("here is", "here's", "here are", "below is", "below you", "the following", "as requested", "sure"),
    *("certainly", "of course", "okay", "ok,", "ok.", "alright", "absolutely", "great", "thanks", "thank you"),
    *("understood", "got it", "i have", "i've", "i will", "i'll", "i am", "i'm", "now i", "let me"),
    *("based on", "after reviewing", "looking at", "this is the", "my design", "my draft", "please find", "happy to"),
)
_FAREWELLS = (
    *("let me know", "please let me know", "feel free", "i hope", "hope this", "would you like", "if you'd like"),
    *("if you would like", "if you want me", "if you need", "if you have any", "shall i"),
    *("should i ", "do you want me", "happy to", "i'm happy", "i am happy", "i can also", "i can now"),
    *("is there anything", "please review", "looking forward", "end of answer", "end of response"),
)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of an answer that are the document, from `start` up to `end`."""

    start: int
    end: int
    open_fence: int | None = None
    """The row of a fence around the document that nothing closes."""


def unwrap(text: str) -> str:
    """Return the document in a model's answer, with line feeds as line ends.

    A fence around it that nothing closes is kept: it shows that the answer was cut off.
    """
    rows = split_lines(text)
    window = find_document(rows)
    start = window.start if window.open_fence is None else window.open_fence
    start, end = _trim(rows, start, window.end)
    return "\n".join(rows[start:end]) + "\n" if start < end else ""


def find_document(rows: Sequence[str]) -> Window:
    """Return where the document stands among the rows of an answer."""
    window = Window(0, len(rows))
    for _ in range(_MOST_LAYERS):
        inner = _peel(rows, window)
        if inner == window:
            break
        window = inner
        if window.open_fence is not None:
            break
    return window


def _peel(rows: Sequence[str], window: Window) -> Window:
    """Take one layer off: what precedes the document, a fence around it, or what follows it."""
    first, end = _trim(rows, window.start, window.end)
    if first == end:
        return window
    start = after_thinking(rows, first, end)
    anchor = _anchor(rows, start, end)
    if anchor is None:
        return window
    is_greeting = anchor > start and _is_greeting(rows[start:anchor])
    if fence_opening(rows[anchor]) and (anchor == start or is_greeting):
        inner = _inside_fence(rows, anchor, end)
        if inner is not None:
            return inner
    if heading_level(rows[anchor]) and (is_greeting or (start > first and anchor == start)):
        start = anchor
    else:
        start = window.start
    return Window(start, _before_farewell(rows, anchor, window.end))


def _trim(rows: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start < end and not rows[start].strip():
        start += 1
    while start < end and not rows[end - 1].strip():
        end -= 1
    return start, end


def after_thinking(rows: Sequence[str], start: int, end: int) -> int:
    """Skip a block of thoughts such as `<thinking> ... </thinking>` at the very beginning."""
    opening = rows[start].strip().casefold()
    for name in _THINKING:
        if not opening.startswith(f"<{name}>"):
            continue
        for index in range(start, end):
            if rows[index].strip().casefold().endswith(f"</{name}>"):
                return _trim(rows, index + 1, end)[0]
    return start


def _anchor(rows: Sequence[str], start: int, end: int) -> int | None:
    """Return the first heading or fence near the beginning."""
    seen = 0
    for index in range(start, end):
        row = rows[index]
        if heading_level(row) or fence_opening(row):
            return index
        seen += bool(row.strip())
        if seen > _LONGEST_PREAMBLE:
            return None
    return None


def _is_greeting(rows: Sequence[str]) -> bool:
    words = [row.strip() for row in rows if row.strip()]
    if any("<!--" in row or row.startswith(("|", ">", "---")) or list_marker(row) is not None for row in words):
        return False
    return _bare(words[0]).startswith(_GREETINGS)


def _bare(row: str) -> str:
    return row[:200].lstrip("*_ ").casefold().replace("\u2019", "'")


def _inside_fence(rows: Sequence[str], anchor: int, end: int) -> Window | None:
    """Return what a fence around the whole document holds, or None when the fence is only a code block.

    Inside it, fences pair up as they come; so the mark that closes the outer one looks like an opening that nothing
    closes.
    """
    mark, info = fence_opening(rows[anchor]) or ("", "")
    first, _ = _trim(rows, anchor + 1, end)
    if info.casefold() not in _PLAIN or first >= end or not 0 < heading_level(rows[first]) <= 3:
        return None
    open_mark, opened_at = "", end
    for index in range(anchor + 1, end):
        row = rows[index]
        if open_mark:
            if open_mark in row and is_fence_close(row, open_mark):
                open_mark = ""
        elif ("```" in row or "~~~" in row) and (opening := fence_opening(row)):
            open_mark, opened_at = opening[0], index
    if not open_mark:
        return Window(anchor + 1, end, open_fence=anchor)
    closes = is_fence_close(rows[opened_at], mark) and not _introduces_code(rows, anchor, opened_at)
    if closes and _is_remark(rows[opened_at + 1 : end]):
        return Window(anchor + 1, opened_at)
    if any(heading_level(row) for row in rows[opened_at + 1 : end]):
        return None
    return Window(anchor + 1, end, open_fence=anchor)


def _introduces_code(rows: Sequence[str], anchor: int, index: int) -> bool:
    before = index - 1
    while before > anchor and not rows[before].strip():
        before -= 1
    return before > anchor and (bool(heading_level(rows[before])) or rows[before].rstrip("* ").endswith(":"))


def _is_remark(rows: Sequence[str]) -> bool:
    """Tell whether rows after the closing fence are only words to the reader."""
    words = [row for row in rows if row.strip()]
    if not words:
        return True
    if len(words) > _LONGEST_FAREWELL or any(heading_level(row) or row.lstrip().startswith("|") for row in words):
        return False
    return words[0].lstrip("*_ ")[:1].isalpha() and " " in words[0].strip()


def _before_farewell(rows: Sequence[str], anchor: int, end: int) -> int:
    """Return the end of the rows without the closing words of the model."""
    kept = end
    for _ in range(_MOST_LAYERS):
        _, last = _trim(rows, anchor, kept)
        begin = last
        highest = max(anchor + 1, last - _LONGEST_FAREWELL - 1)
        while begin > highest and rows[begin - 1].strip() and not _is_edge(rows[begin - 1]):
            begin -= 1
        words = [row.strip() for row in rows[begin:last]]
        if not 0 < len(words) <= _LONGEST_FAREWELL or not any(row.strip() for row in rows[anchor + 1 : begin]):
            return kept
        if not _bare(words[0]).startswith(_FAREWELLS) or _is_in_fence(rows, anchor, begin):
            return kept
        if any(list_marker(row) is not None or heading_level(row) or "<!--" in row for row in words):
            return kept
        kept = begin
        _, last = _trim(rows, anchor, kept)
        if last - 1 > anchor and rows[last - 1].strip() in ("---", "***", "___"):
            kept = last - 1
    return kept


def _is_edge(row: str) -> bool:
    return "|" in row or row.rstrip().endswith("-->") or bool(fence_opening(row) or heading_level(row))


def _is_in_fence(rows: Sequence[str], start: int, end: int) -> bool:
    mark = ""
    for index in range(start, end):
        row = rows[index]
        if mark:
            mark = "" if mark in row and is_fence_close(row, mark) else mark
        elif ("```" in row or "~~~" in row) and (opening := fence_opening(row)):
            mark = opening[0]
    return bool(mark)
