"""Read a section as the file has it: with its blank lines, or as a part of a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentos.documents.changes.indentation import align_rows
from agentos.documents.changes.matching import LEVELS, Level, Source, is_blank
from agentos.documents.changes.model import Rows
from agentos.documents.changes.spellings import Spelling

_LEAST_PART = 5


def near_spellings(
    source: Source,
    search: Rows,
    replace: Rows,
) -> Iterator[Spelling]:
    """Yield the readings of a section that follow what a file has."""
    yield from _with_blank_lines(source, search, replace)
    yield from _as_part(source, search, replace)


@dataclass(frozen=True, slots=True)
class _Spaced:
    """The rows that are not blank, and how many blank ones are above each."""

    rows: list[str]
    gaps: list[int]

    def join(self) -> list[str]:
        """Return the rows with the blank ones."""
        joined = []
        for row, gap in zip(self.rows, self.gaps, strict=True):
            joined += [""] * gap
            joined.append(row)
        return joined


def _split_blank(rows: Rows) -> _Spaced:
    written = []
    gaps = []
    gap = 0
    for row in rows:
        if is_blank(row):
            gap += 1
            continue
        written.append(row)
        gaps.append(gap)
        gap = 0
    return _Spaced(written, gaps)


def _with_blank_lines(
    source: Source, search: Rows, replace: Rows
) -> Iterator[Spelling]:
    """Give a section the blank lines of the file between the lines that stay."""
    old = _split_blank(search)
    if len(old.rows) < 2:
        return
    places = source.find_written(old.rows)
    if len(places) != 1:
        return
    start, end = places[0]
    theirs = _split_blank(source.plain[start:end])
    new = _split_blank(replace)
    _fit_gaps(new, old, theirs)
    respaced = _Spaced(old.rows, theirs.gaps)
    yield Spelling(
        respaced.join(),
        new.join(),
        "with other blank lines",
        LEVELS,
    )


def _fit_gaps(new: _Spaced, old: _Spaced, theirs: _Spaced) -> None:
    """Leave the blank lines of the file where the section does not change them."""
    if not new.rows:
        return
    gaps = new.gaps
    first = gaps[0] - old.gaps[0]
    gaps[0] = max(0, first)
    places = _pair(old.rows, new.rows)
    for number, place in places.items():
        if not number or not place:
            continue
        if gaps[number] == old.gaps[place]:
            gaps[number] = theirs.gaps[place]


def _pair(old: Rows, new: Rows) -> dict[int, int]:
    """Return which rows replace which: equal ones, and between these as many others."""
    places = align_rows(old, new)
    anchors = sorted(places.items())
    ends = (len(new), len(old))
    anchors.append(ends)
    number = place = 0
    for next_number, next_place in anchors:
        size = next_number - number
        if size == next_place - place:
            for offset in range(size):
                other = number + offset
                places[other] = place + offset
        number = next_number + 1
        place = next_place + 1
    return places


def _as_part(source: Source, search: Rows, replace: Rows) -> Iterator[Spelling]:
    """Replace a part of a line in place, if the file has the part only once."""
    old = _only_row(search)
    new = _only_row(replace)
    if len(old) < _LEAST_PART or not new:
        return
    number = source.find_part(old)
    if number < 0:
        return
    row = source.plain[number]
    before, _, after = row.partition(old)
    if _goes_on(before, old) or _goes_on(old, after):
        return
    changed = before + new + after
    yield Spelling(
        [row],
        [changed],
        "as a part of the line",
        (Level.EXACT,),
    )


def _only_row(rows: Rows) -> str:
    """Return the only row that is not blank, or an empty text."""
    stripped = map(str.strip, rows)
    written = list(filter(None, stripped))
    if len(written) != 1:
        return ""
    return written[0]


def _goes_on(before: str, after: str) -> bool:
    """Tell whether a word goes on from one text to the next."""
    last = before[-1:]
    first = after[:1]
    return _is_of_word(last) and _is_of_word(first)


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
