"""Read the sections of an edit: the lines to search for and their replacement.

The three marks of a section, `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, begin
in the first column and have the same length, seven or more. Marks of another length are
text: to edit a file that contains such a line, write the section with longer marks. A
section with two dividing lines is refused, because either of them could be the divider.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from agentos.documents.changes.model import Edit, Problem, Rows, problem_at

SEARCH = "<"
DIVIDER = "="
REPLACE = ">"
MIN_LENGTH = 7
_TAILS = {
    SEARCH: " SEARCH",
    DIVIDER: "",
    REPLACE: " REPLACE",
}


def mark_length(row: str, kind: str) -> int:
    """Return the length of the mark that a row is, 0 if it is no mark of this kind."""
    if not row.startswith(kind * MIN_LENGTH):
        return 0
    tail = row.lstrip(kind)
    if tail.rstrip(" \t\r") != _TAILS[kind]:
        return 0
    return len(row) - len(tail)


def is_mark(row: str, kind: str) -> bool:
    """Tell whether a row is a mark of this kind."""
    return mark_length(row, kind) > 0


def make_mark(kind: str, length: int) -> str:
    """Write a mark."""
    return kind * length + _TAILS[kind]


class SectionMap:
    """Where complete sections begin and end in a whole answer."""

    def __init__(self, rows: Rows, candidates: Iterable[int]) -> None:
        self._sections: list[tuple[int, int]] = []
        # The row of the last opening mark of each length.
        opened: dict[int, int] = {}
        for number in candidates:
            row = rows[number].strip(" \t\r")
            opening = mark_length(row, SEARCH)
            if opening:
                opened[opening] = number
                continue
            closing = mark_length(row, REPLACE)
            if closing in opened:
                start = opened.pop(closing)
                self._sections.append((start, number))
        # Sections with marks of different lengths may overlap.
        self._sections.sort()

    def skip(self, row: int, before: int) -> int:
        """Return the row after all sections that begin between two rows."""
        while True:
            index = bisect_left(self._sections, (row, 0))
            if index == len(self._sections):
                return row
            start, end = self._sections[index]
            if start >= before:
                return row
            row = end + 1


def read_sections(rows: Rows, first_line: int) -> list[Edit] | Problem:
    """Return the edits in some rows, or the first problem with them.

    `first_line` is the line number of the first row.
    """
    edits: list[Edit] = []
    start = 0
    length = 0
    # The rows of the open section, split at its dividing lines; empty between sections.
    parts: list[list[str]] = []
    for line, row in enumerate(rows, first_line):
        opening = mark_length(row, SEARCH)
        if not parts:
            if opening:
                start = line
                length = opening
                parts = [[]]
            elif row.strip():
                return problem_at(
                    line,
                    "stands outside the sections of the edit; put explanations outside"
                    " the block.",
                )
        elif opening == length:
            return _unfinished(start, length)
        elif mark_length(row, DIVIDER) == length:
            parts.append([])
        elif mark_length(row, REPLACE) == length:
            if len(parts) != 2:
                return _undivided(start, length, len(parts) - 1)
            search, replace = map(_join, parts)
            edits.append(Edit(search, replace, start))
            parts = []
        else:
            parts[-1].append(row)
    if parts:
        return _unfinished(start, length)
    return edits


def _join(rows: Rows) -> str:
    return "".join(f"{row}\n" for row in rows)


def _show_mark(kind: str, length: int) -> str:
    mark = make_mark(kind, length)
    return mark[:60]


def _unfinished(line: int, length: int) -> Problem:
    end = _show_mark(REPLACE, length)
    return problem_at(line, f"the section has no end; close it with `{end}`.")


def _undivided(line: int, length: int, dividers: int) -> Problem:
    if not dividers:
        divider = _show_mark(DIVIDER, length)
        return problem_at(
            line,
            f"the section has no line `{divider}` between what is searched and what"
            " replaces it.",
        )
    longer = _show_mark(SEARCH, length + 2)
    return problem_at(
        line,
        f"the section has {dividers} dividing lines; write all its marks longer, as"
        f" `{longer}`.",
    )
