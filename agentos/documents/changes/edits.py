"""Apply edits to a text.

Each SEARCH text must match whole lines of the file and occur exactly once; otherwise
nothing changes. The comparison ignores line ends. Lines that stay keep theirs, and new
lines take those of the lines they replace, so a file with CRLF keeps CRLF. A file
without a line feed at its end stays without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from agentos.documents.changes.model import Edit, Rows
from agentos.errors import AgentOSError

_MAX_COUNTED = 20
_MAX_SHOWN = 5
_MAX_COMPARED = 2_000
_MAX_LENGTH = 200
_MAX_STARTS = 200
_MIN_RATIO = 0.6


class EditRefused(AgentOSError, ValueError):
    """An edit that cannot be applied; `line` is where it begins in the answer."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"Line {line}: {text}")
        self.line = line


def apply_edits(original: str, edits: Sequence[Edit]) -> str:
    """Return the text with all edits applied in order.

    An empty text stands for a file that does not exist.
    """
    text = original
    for edit in edits:
        text = _apply(text, edit)
    return text


def _apply(text: str, edit: Edit) -> str:
    if not edit.search:
        if text:
            raise EditRefused(
                edit.line,
                "an empty SEARCH is only for a new file; name the lines that are"
                " replaced",
            )
        return edit.replace
    has_end = text.endswith("\n")
    rows: list[str] = []
    if text:
        rows = text.removesuffix("\n").split("\n")
    plain = _without_returns(rows)
    search = edit.search.removesuffix("\n")
    wanted = _without_returns(search.split("\n"))
    start = _find_once(plain, wanted, edit.line)
    end = start + len(wanted)
    is_tail = not has_end and end == len(rows)
    # The last line of a file without a final line feed has no line end of its own, so
    # the line above it tells which one to use.
    above = max(0, start - is_tail)
    *new, _ = edit.replace.split("\n")
    new = _without_returns(new)
    if rows[above:end] != plain[above:end]:
        new = [f"{row}\r" for row in new]
    rows[start:end] = new
    if is_tail and rows:
        rows[-1] = rows[-1].removesuffix("\r")
    result = "\n".join(rows)
    if has_end and rows:
        result += "\n"
    return result


def _without_returns(rows: Rows) -> list[str]:
    return [row.removesuffix("\r") for row in rows]


def _find_once(plain: Rows, wanted: Rows, line: int) -> int:
    """Return the row where the wanted rows begin, or raise `EditRefused`."""
    text = "\n".join(["", *plain, ""])
    pattern = "\n".join(["", *wanted, ""])
    found: list[int] = []
    position = -1
    if plain:
        position = text.find(pattern)
    while position >= 0 and len(found) < _MAX_COUNTED:
        row = text.count("\n", 0, position)
        found.append(row)
        position = text.find(pattern, position + 1)
    if not found:
        hint = _hint(plain, wanted)
        raise EditRefused(line, f"the SEARCH text is not found{hint}")
    if len(found) == 1:
        return found[0]
    count = str(len(found))
    if len(found) == _MAX_COUNTED:
        count += " or more"
    lines = ", ".join(str(row + 1) for row in found[:_MAX_SHOWN])
    if len(found) > _MAX_SHOWN:
        lines += ", ..."
    raise EditRefused(
        line,
        f"the SEARCH text is found {count} times (lines {lines} of the file); add"
        " neighboring lines until it is found once",
    )


def _hint(plain: Rows, wanted: Rows) -> str:
    """Say where the text begins to differ, or which line is most similar."""
    if not plain:
        return ": the file is empty or does not exist; use an empty SEARCH to make it"
    if wanted[0] in plain:
        return _hint_difference(plain, wanted)
    first = ""
    for row in wanted:
        first = row.strip()
        if first:
            break
    for number, row in enumerate(plain, 1):
        if first and row.strip() == first:
            return (
                f": line {number} of the file differs from it only in spaces:"
                f" `{_show(row)}`"
            )
    near = _find_similar(plain, first)
    if not near:
        return ""
    shown = _show(plain[near - 1])
    return f"; the nearest line is line {near} of the file: `{shown}`"


def _hint_difference(plain: Rows, wanted: Rows) -> str:
    """Say where the longest match of the first rows ends."""
    longest = begin = tried = 0
    for start, row in enumerate(plain):
        if row != wanted[0]:
            continue
        tried += 1
        if tried > _MAX_STARTS:
            break
        following = plain[start : start + _MAX_COMPARED]
        same = _count_same(following, wanted)
        if same > longest:
            longest = same
            begin = start
    end = begin + longest
    if end == len(plain):
        return f": it matches up to line {end} of the file, where the file ends"
    shown = _show(plain[end])
    return (
        f": it matches from line {begin + 1} of the file, until line {end + 1}"
        f" has `{shown}`"
    )


def _count_same(plain: Rows, wanted: Rows) -> int:
    same = 0
    for have, want in zip(plain, wanted, strict=False):
        if have != want:
            break
        same += 1
    return same


def _find_similar(plain: Rows, wanted: str) -> int:
    """Return the number of the line most similar to the wanted one, 0 if none is."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(wanted[:_MAX_LENGTH])
    best = _MIN_RATIO
    found = 0
    for number, row in enumerate(plain[:_MAX_COMPARED], 1):
        matcher.set_seq1(row.strip()[:_MAX_LENGTH])
        # The quick ratios are upper bounds, and far cheaper than the ratio itself.
        if matcher.real_quick_ratio() <= best:
            continue
        if matcher.quick_ratio() <= best:
            continue
        ratio = matcher.ratio()
        if ratio > best:
            best = ratio
            found = number
    return found


def _show(row: str) -> str:
    shown = row.strip()
    return shown[:100]
