"""Read the sections of an edit: what is searched, and what replaces it.

The three marks of a section, `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, begin in the first column and have
the same length, seven or more. Lines with marks of another length are text: whoever edits a file that contains such a
line writes the section with longer marks. A section with two dividing lines is refused, for nothing tells which of
them divides.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from agentos.documents.changes.model import Edit, Problem

SEARCH = "<"
DIVIDER = "="
REPLACE = ">"
SHORTEST = 7
_TAILS = {SEARCH: " SEARCH", DIVIDER: "", REPLACE: " REPLACE"}


def mark_length(row: str, kind: str) -> int:
    """Return how long the mark of a kind is that a row consists of, 0 when it is none."""
    if not row.startswith(kind * SHORTEST):
        return 0
    rest = row.lstrip(kind)
    return len(row) - len(rest) if rest.rstrip(" \t\r") == _TAILS[kind] else 0


def is_mark(row: str, kind: str) -> bool:
    """Tell whether a row is a mark of a kind."""
    return mark_length(row, kind) > 0


def make_mark(kind: str, length: int) -> str:
    """Write a mark."""
    return kind * length + _TAILS[kind]


class SectionMap:
    """Where sections begin and end among the rows of a whole answer."""

    def __init__(self, rows: Sequence[str], candidates: Iterable[int]) -> None:
        self._starts: list[int] = []
        self._lengths: dict[int, int] = {}
        self._marks: dict[int, list[tuple[int, str]]] = {}
        for number in candidates:
            row = rows[number].strip(" \t\r")
            kind = row[:1]
            length = mark_length(row, kind) if kind in (SEARCH, REPLACE) else 0
            if length:
                self._marks.setdefault(length, []).append((number, kind))
            if length and kind == SEARCH:
                self._starts.append(number)
                self._lengths[number] = length

    def next_section(self, row: int, before: int) -> tuple[int, int] | None:
        """Return first and last row of the first whole section that begins at a row or below it, and before another."""
        for at in range(bisect_left(self._starts, row), len(self._starts)):
            start = self._starts[at]
            if start >= before:
                return None
            marks = self._marks[self._lengths[start]]
            following = bisect_right(marks, (start, SEARCH))
            if following < len(marks) and marks[following][1] == REPLACE:
                return start, marks[following][0]
        return None


def read_sections(rows: Sequence[str], first_line: int) -> tuple[tuple[Edit, ...], tuple[Problem, ...]]:
    """Return the edits in rows of which the first has this line number, and what is wrong with the rest."""
    edits: list[Edit] = []
    problems: list[Problem] = []
    strays = 0
    start, length = -1, 0
    dividers: list[int] = []
    for number, row in enumerate(rows):
        opens = mark_length(row, SEARCH)
        if start < 0 and not opens:
            if row.strip():
                strays += 1
                if strays == 1:
                    problems.append(_stray(first_line + number))
        elif opens and (start < 0 or opens == length):
            if start >= 0:
                problems.append(_unfinished(first_line + start, length))
            start, length, dividers = number, opens, []
        elif mark_length(row, DIVIDER) == length:
            dividers.append(number)
        elif mark_length(row, REPLACE) == length:
            if len(dividers) == 1:
                middle = dividers[0]
                edits.append(
                    Edit(_join(rows[start + 1 : middle]), _join(rows[middle + 1 : number]), first_line + start)
                )
            else:
                problems.append(_undivided(first_line + start, length, len(dividers)))
            start = -1
    if start >= 0:
        problems.append(_unfinished(first_line + start, length))
    return tuple(edits), tuple(problems)


def _join(rows: Sequence[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _stray(line: int) -> Problem:
    return Problem(line, f"Line {line}: stands outside the sections of the edit; put explanations outside the block.")


def _unfinished(line: int, length: int) -> Problem:
    end = make_mark(REPLACE, length)[:60]
    return Problem(line, f"Line {line}: the section has no end; close it with `{end}`.")


def _undivided(line: int, length: int, dividers: int) -> Problem:
    if not dividers:
        divider = make_mark(DIVIDER, length)[:60]
        return Problem(
            line, f"Line {line}: the section has no line `{divider}` between what is searched and what replaces it."
        )
    longer = make_mark(SEARCH, length + 2)[:60]
    text = f"Line {line}: the section has {dividers} dividing lines; write all its marks longer, as `{longer}`."
    return Problem(line, text)
