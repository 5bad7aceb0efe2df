"""Apply edits to a text: every section must be found exactly once, line by line, or nothing is changed.

Line ends do not count when lines are compared. Lines that stay keep their own; new ones get those of the lines they
replace, so that a file with CR and LF stays one. Whether the last line of a file ends with a line feed does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from agentos.documents.changes.model import Edit

_MOST_COUNTED = 20
_MOST_COMPARED = 2_000
_LONGEST_COMPARED = 200
_ALIKE = 0.6
_MOST_STARTS = 200


class EditRefused(ValueError):
    """A section that cannot be applied; `line` is where it stands in the answer."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"Line {line}: {text}")
        self.line = line


def apply_edits(original: str, edits: Sequence[Edit]) -> str:
    """Return the text with all edits applied in order; empty text stands for a file that does not exist."""
    text = original
    for edit in edits:
        text = _apply(text, edit)
    return text


def _apply(text: str, edit: Edit) -> str:
    if not edit.search:
        if text:
            raise EditRefused(edit.line, "an empty SEARCH is only for a new file; name the lines that are replaced")
        return edit.replace
    has_end = text.endswith("\n")
    rows = (text[:-1] if has_end else text).split("\n") if text else []
    plain = [row.removesuffix("\r") for row in rows]
    wanted = [row.removesuffix("\r") for row in edit.search.removesuffix("\n").split("\n")]
    at = _find_once(plain, wanted, edit.line)
    is_tail = not has_end and at + len(wanted) == len(rows)
    # The last row of a file without a final line feed has no line end of its own: the row above tells.
    near = range(max(0, at - is_tail), at + len(wanted))
    ending = "\r" if any(len(rows[row]) != len(plain[row]) for row in near) else ""
    new = [row.removesuffix("\r") + ending for row in edit.replace.split("\n")[:-1]]
    rows[at : at + len(wanted)] = new
    if is_tail and rows:
        rows[-1] = rows[-1].removesuffix("\r")
    return "\n".join(rows) + ("\n" if has_end and rows else "")


def _find_once(plain: Sequence[str], wanted: Sequence[str], line: int) -> int:
    """Return the row where the wanted rows begin, if there is exactly one."""
    text = "\n".join(["", *plain, ""])
    pattern = "\n".join(["", *wanted, ""])
    places: list[int] = []
    place = text.find(pattern) if plain else -1
    while place >= 0 and len(places) < _MOST_COUNTED:
        places.append(place)
        place = text.find(pattern, place + 1)
    if len(places) == 1:
        return text.count("\n", 0, places[0])
    if places:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:5])
        count = f"{len(places)} or more" if len(places) == _MOST_COUNTED else str(len(places))
        more = ", ..." if len(places) > 5 else ""
        hint = f"(lines {lines}{more} of the file); add neighbouring lines until it is found once"
        raise EditRefused(line, f"the SEARCH text is found {count} times {hint}")
    raise EditRefused(line, f"the SEARCH text is not found{_hint(plain, wanted)}")


def _hint(plain: Sequence[str], wanted: Sequence[str]) -> str:
    """Say where the text begins to differ, or which line comes nearest."""
    if not plain:
        return ": the file is empty or does not exist; use an empty SEARCH to make it"
    starts = [n for n, row in enumerate(plain) if row == wanted[0]][:_MOST_STARTS]
    if starts:
        at = max(starts, key=lambda start: _same_rows(plain, wanted, start))
        same = _same_rows(plain, wanted, at)
        if at + same == len(plain):
            return f": it matches up to line {at + same} of the file, where the file ends"
        have = _show(plain[at + same])
        return f": it matches from line {at + 1} of the file, until line {at + same + 1} has `{have}`"
    first = next((row for row in wanted if row.strip()), "")
    stripped = first.strip()
    for number, row in enumerate(plain, 1):
        if stripped and row.strip() == stripped:
            return f": line {number} of the file differs from it only in spaces: `{_show(row)}`"
    near = _nearest(plain, first)
    return f"; the nearest line is line {near} of the file: `{_show(plain[near - 1])}`" if near else ""


def _same_rows(plain: Sequence[str], wanted: Sequence[str], start: int) -> int:
    same = 0
    while same < min(len(wanted), _MOST_COMPARED) and start + same < len(plain) and plain[start + same] == wanted[same]:
        same += 1
    return same


def _nearest(plain: Sequence[str], wanted: str) -> int:
    """Return the number of the line most like the wanted one, 0 when none is."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(wanted.strip()[:_LONGEST_COMPARED])
    best, found = _ALIKE, 0
    for number, row in enumerate(plain[:_MOST_COMPARED], 1):
        matcher.set_seq1(row.strip()[:_LONGEST_COMPARED])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, found = ratio, number
    return found


def _show(row: str) -> str:
    return row.strip()[:100]
