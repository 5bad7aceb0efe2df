"""Read the sections of an edit: the lines to search for and their replacement.

The three marks of a section, `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, begin
in the first column and have the same length, seven or more. Marks of another length are
text: to edit a file that contains such a line, write the section with longer marks. A
section with two dividing lines is refused, because either of them could be the divider.

What cannot be read like that is read once more with marks of any length, with or without
their words, and a last section may lack its end. Such a reading counts only if there is
exactly one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from agentos.documents.changes.contract import LONGER_MARKS
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
_LOOSE = {
    SEARCH: re.compile(
        r"(?:(<{4,}+)|-{5,}+(?=[ \t]*+SEARCH))[ \t]*+"
        r"(?:SEARCH(?:[ \t]++(?:\S{1,200}|\([^()]{1,100}\)))?|ORIGINAL|OLD|BEFORE|HEAD|FIND|CURRENT)?:?",
        re.IGNORECASE,
    ),
    DIVIDER: re.compile(r"(={4,}+)(?:[ \t]*+(?:REPLACE|WITH|NEW))?", re.IGNORECASE),
    REPLACE: re.compile(
        r"(?:(>{4,}+)|\+{5,}+(?=[ \t]*+REPLACE))[ \t]*+"
        r"(?:REPLACE(?:[ \t]++\S{1,200})?|UPDATED?|NEW|AFTER)?:?"
        r"|(>{7,}+)[ \t]++\S{1,100}",
        re.IGNORECASE,
    ),
}
_REMARKED = re.compile(r"(={5,}+)[ \t]++[^= \t].{0,100}")
"""A divider with a remark behind it."""


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


def loose_length(row: str, kind: str) -> int:
    """Return the length of a mark that may be written in another way, or 0."""
    bare = row.strip(" \t\r")
    if bare[:1] not in "<=>-+" or not bare:
        return 0
    match = _LOOSE[kind].fullmatch(bare)
    if match is None:
        return 0
    signs = bare[:1]
    if signs not in "<=>":
        return MIN_LENGTH
    return len(bare) - len(bare.lstrip(signs))


def make_mark(kind: str, length: int) -> str:
    """Write a mark."""
    return kind * length + _TAILS[kind]


def holds_section(rows: Rows) -> bool:
    """Tell whether a section of an edit begins in one of the rows."""
    marked = [row for row in rows if "SEARCH" in row]
    if any(is_mark(row, SEARCH) for row in marked):
        return True
    if not any(loose_length(row, SEARCH) for row in marked):
        return False
    ends = [row for row in rows if "REPLACE" in row]
    return any(loose_length(row, REPLACE) for row in ends)


class SectionMap:
    """Where complete sections begin and end in a whole answer."""

    def __init__(self, rows: Rows, candidates: Iterable[int]) -> None:
        marks = list(_read_marks(rows, candidates))
        self._sections = _pair_strictly(marks)
        self._sections += _pair_loosely(marks, self._sections)
        # Sections with marks of different lengths may overlap.
        self._sections.sort()
        begun = _find_begun(marks, self._sections)
        self._begun = sorted(begun)

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

    def unread(self, taken: bytes | bytearray) -> list[int]:
        """Return the rows where sections begin, complete or not, that no file takes."""
        return [row for row in self._begun if not taken[row]]

    def end_of(self, row: int) -> int:
        """Return the row after the section that begins in a row, 0 if none does."""
        index = bisect_left(self._sections, (row, 0))
        if index == len(self._sections):
            return 0
        start, end = self._sections[index]
        if start != row:
            return 0
        return end + 1


class _Mark(NamedTuple):
    row: int
    kind: str
    length: int
    is_strict: bool


_Pairs = list[tuple[int, int]]


def _read_marks(rows: Rows, candidates: Iterable[int]) -> Iterator[_Mark]:
    for number in candidates:
        row = rows[number].strip(" \t\r")
        for kind in (SEARCH, REPLACE):
            strict = mark_length(row, kind)
            length = strict or loose_length(row, kind)
            if length:
                yield _Mark(number, kind, length, strict > 0)


def _pair_strictly(marks: Iterable[_Mark]) -> _Pairs:
    pairs: _Pairs = []
    # The row of the last opening mark of each length.
    opened: dict[int, int] = {}
    for mark in marks:
        if not mark.is_strict:
            continue
        if mark.kind == SEARCH:
            opened[mark.length] = mark.row
        elif mark.length in opened:
            start = opened.pop(mark.length)
            pairs.append((start, mark.row))
    return pairs


def _pair_loosely(marks: Iterable[_Mark], strict: _Pairs) -> _Pairs:
    """Pair each mark that is left over with the next one."""
    pairs: _Pairs = []
    used: set[int] = set()
    for pair in strict:
        used.update(pair)
    opened = -1
    for mark in marks:
        if mark.row in used:
            opened = -1
        elif mark.kind == SEARCH:
            opened = mark.row
        elif opened >= 0:
            pairs.append((opened, mark.row))
            opened = -1
    return pairs


def _find_begun(marks: Iterable[_Mark], sections: _Pairs) -> set[int]:
    """Return the rows where sections begin, also such as have no end."""
    begun: set[int] = set()
    for start, _ in sections:
        begun.add(start)
    for mark in marks:
        if mark.kind != SEARCH:
            continue
        if mark.is_strict:
            begun.add(mark.row)
    return begun


def read_sections(
    rows: Rows,
    first_line: int,
    *,
    may_skip: Callable[[str], bool] = lambda row: not row.strip(),
    may_lack_end: bool = False,
) -> list[Edit] | Problem:
    """Return the edits in some rows, or the first problem with them.

    `first_line` is the line number of the first row, `may_skip` tells which rows between
    sections mean nothing, and `may_lack_end` whether the last section may lack its end.
    """
    strict = _read_strictly(rows, first_line)
    if isinstance(strict, list) and (strict or not holds_section(rows)):
        return strict
    loose = _Loose(rows, first_line, may_skip, may_lack_end).read()
    if loose:
        return loose
    return strict


def _read_strictly(rows: Rows, first_line: int) -> list[Edit] | Problem:
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
            search, replace = map(join_rows, parts)
            edits.append(Edit(search, replace, start))
            parts = []
        else:
            parts[-1].append(row)
    if parts:
        return _unfinished(start, length)
    return edits


class _Loose:
    """The sections of an edit whose marks are not as they should be."""

    def __init__(
        self,
        rows: Rows,
        first_line: int,
        may_skip: Callable[[str], bool],
        may_lack_end: bool,
    ) -> None:
        self._rows = rows
        self._first_line = first_line
        self._may_skip = may_skip
        self._may_lack_end = may_lack_end

    def read(self) -> list[Edit]:
        """Return the edits, none if they cannot be told for certain."""
        edits: list[Edit] = []
        start = -1
        for number, row in enumerate(self._rows):
            if loose_length(row, SEARCH):
                if start >= 0 and not self._close(edits, start, number, is_ended=False):
                    return []
                start = number
            elif start >= 0:
                if not loose_length(row, REPLACE):
                    continue
                if not self._close(edits, start, number, is_ended=True):
                    return []
                start = -1
            elif not self._may_skip(row):
                return []
        if start < 0:
            return edits
        if not self._may_lack_end:
            return []
        rows = self._rows
        end = len(rows)
        while not rows[end - 1].strip():
            end -= 1
        if not self._close(edits, start, end, is_ended=False):
            return []
        return edits

    def _close(
        self, edits: list[Edit], start: int, end: int, *, is_ended: bool
    ) -> bool:
        """Add the section between two rows; tell whether it has one divider."""
        lengths = {loose_length(self._rows[start], SEARCH)}
        if is_ended:
            lengths.add(loose_length(self._rows[end], REPLACE))
        divider = self._find_divider(start + 1, end, lengths)
        if divider < 0:
            return False
        rows = self._rows
        first = start + 1
        search = join_rows(rows[first:divider])
        first = divider + 1
        replace = join_rows(rows[first:end])
        line = self._first_line + start
        edit = Edit(search, replace, line)
        edits.append(edit)
        return True

    def _find_divider(self, start: int, end: int, lengths: set[int]) -> int:
        found: dict[int, int] = {}
        remarked = []
        for number in range(start, end):
            row = self._rows[number]
            length = loose_length(row, DIVIDER)
            if length:
                found[number] = length
            elif _REMARKED.fullmatch(row.rstrip()):
                remarked.append(number)
        fitting = [number for number, length in found.items() if length in lengths]
        choices = [fitting, list(found)]
        if not found:
            choices.append(remarked)
        for numbers in choices:
            if len(numbers) == 1:
                return numbers[0]
        return -1


def join_rows(rows: Rows) -> str:
    """Return rows as a text in which each ends with a line feed."""
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
        f"the section has {dividers} dividing lines; {LONGER_MARKS}, as `{longer}`.",
    )
