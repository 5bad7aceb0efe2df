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
    source: Source, search: Rows, replace: Rows
) -> Iterator[Spelling]:
    """Yield the readings of a section that follow what a file has."""
    yield from _with_blank_lines(source, search, replace)
    yield from _as_part(source, search, replace)


@dataclass(frozen=True, slots=True)
class _Spaced:
    """The rows that are not blank, and how many blank ones are above each."""

    rows: list[str]
    gaps: list[int]


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
    for start, end in source.find_written(old.rows):
        found = source.plain[start:end]
        theirs = _split_blank(found)
        new = _split_blank(replace)
        gaps = list(new.gaps)
        if gaps:
            gaps[0] = max(0, gaps[0] - old.gaps[0])
        for number, place in _pair(old.rows, new.rows).items():
            if number and place and gaps[number] == old.gaps[place]:
                gaps[number] = theirs.gaps[place]
        yield Spelling(
            _join_blank(old.rows, theirs.gaps),
            _join_blank(new.rows, gaps),
            "with other blank lines",
            LEVELS,
        )


def _pair(old: Rows, new: Rows) -> dict[int, int]:
    """Return which rows replace which: equal ones, and between these as many others."""
    places = align_rows(old, new)
    anchors = sorted(places.items())
    anchors.append((len(new), len(old)))
    number = place = 0
    for next_number, next_place in anchors:
        if next_number - number == next_place - place:
            for offset in range(next_number - number):
                places[number + offset] = place + offset
        number = next_number + 1
        place = next_place + 1
    return places


def _join_blank(rows: Rows, gaps: list[int]) -> list[str]:
    joined = []
    for row, gap in zip(rows, gaps, strict=True):
        joined += [""] * gap
        joined.append(row)
    return joined


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
    if _is_within_word(before, old) or _is_within_word(old, after):
        return
    changed = before + new + after
    yield Spelling([row], [changed], "as a part of the line", (Level.EXACT,))


def _only_row(rows: Rows) -> str:
    """Return the only row that is not blank, or an empty text."""
    written = [row.strip() for row in rows if not is_blank(row)]
    if len(written) != 1:
        return ""
    return written[0]


def _is_within_word(before: str, after: str) -> bool:
    """Tell whether a word goes on from one text to the next."""
    return _is_of_word(before[-1:]) and _is_of_word(after[:1])


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
