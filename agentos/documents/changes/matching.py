"""Find the lines of a file that a SEARCH means.

There are four levels, and the first that finds anything decides:

1. The lines are the same.
2. They are the same without the blanks at their ends.
3. They are the same once all are indented by the same amount more or less.
4. They are the same without their indentation.

Two places at that level are none: nobody can tell which one is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from agentos.documents.changes.model import Rows

Normalize = Callable[[str], str]
"""Returns a row as it is compared."""
MAX_COUNTED = 20
_MAX_TRIED = 200
_MAX_COMPARED = 2_000_000
_BLANK = " \t\r"


class Level(Enum):
    """How closely lines were compared; the value says so in a report."""

    EXACT = ""
    BLANKS = "without trailing blanks"
    SHIFT = "with another indentation"
    TRIMMED = "without indentation"


LEVELS = tuple(Level)


class Source:
    """A file as rows, and its text as each level compares it."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        """The lines with the carriage returns at their ends."""
        self.plain = without_returns(rows)
        self._texts: dict[Normalize, str] = {}
        self._written: tuple[Source, list[int]] | None = None

    def find(self, wanted: Rows, normalize: Normalize) -> list[int]:
        """Return the first rows where the wanted ones begin, in the form compared."""
        if not self.plain:
            return []
        text = self._text(normalize)
        pattern = _join(wanted, normalize)
        found: list[int] = []
        row = last = 0
        place = text.find(pattern)
        while place >= 0:
            row += text.count("\n", last, place)
            found.append(row)
            if len(found) == _MAX_TRIED:
                break
            last = place
            following = place + 1
            place = text.find(pattern, following)
        return found

    def _text(self, normalize: Normalize) -> str:
        text = self._texts.get(normalize)
        if text is None:
            text = _join(self.plain, normalize)
            self._texts[normalize] = text
        return text

    def find_written(self, wanted: Rows) -> list[tuple[int, int]]:
        """Return where rows begin and end if neither blank lines nor indentation count.

        `wanted` has no blank rows.
        """
        source, numbers = self._see_written()
        places = []
        for start in source.find(wanted, without_blanks):
            last = start + len(wanted) - 1
            place = (
                numbers[start],
                numbers[last] + 1,
            )
            places.append(place)
        return places

    def _see_written(self) -> tuple[Source, list[int]]:
        """Return the rows that are not blank, and where they are."""
        if self._written is None:
            numbers = []
            written = []
            for number, row in enumerate(self.plain):
                if not is_blank(row):
                    numbers.append(number)
                    written.append(row)
            source = Source(written)
            self._written = (source, numbers)
        return self._written

    def find_part(self, part: str) -> int:
        """Return the row that holds a part of a line, -1 if there is not exactly one."""
        text = self._text(same)
        place = text.find(part)
        if place < 0:
            return -1
        following = place + 1
        if text.find(part, following) >= 0:
            return -1
        # The text begins with a line feed.
        return text.count("\n", 0, place) - 1

    def locate(self, wanted: Rows, level: Level) -> list[int]:
        """Return the rows where the wanted ones begin at a level."""
        if level is Level.EXACT:
            return self.find(wanted, same)
        if level is Level.BLANKS:
            return self.find(wanted, without_end)
        trimmed = self.find(wanted, without_blanks)
        if level is Level.TRIMMED:
            return trimmed
        compared = len(trimmed) * len(wanted)
        if compared > _MAX_COMPARED:
            return []
        shifted = []
        for start in trimmed:
            end = start + len(wanted)
            rows = self.plain[start:end]
            if find_shift(wanted, rows) is not None:
                shifted.append(start)
        return shifted


@dataclass(frozen=True, slots=True)
class Shift:
    """The indentation that lines of a file have more or less than others."""

    added: str = ""
    removed: str = ""


def find_shift(
    wanted: Rows,
    found: Rows,
) -> Shift | None:
    """Return how the indentation of all wanted rows differs from that in the file.

    None if it does not differ by the same amount in all of them.
    """
    shift = None
    for want, have in zip(wanted, found, strict=True):
        if is_blank(want):
            continue
        if shift is None:
            shift = _compare(want, have)
        if shift is None:
            return None
        if not _is_shifted(want, have, shift):
            return None
    return shift


def _compare(want: str, have: str) -> Shift | None:
    mine = indent_of(want)
    theirs = indent_of(have)
    if theirs.endswith(mine):
        added = theirs.removesuffix(mine)
        return Shift(added=added)
    if mine.endswith(theirs):
        removed = mine.removesuffix(theirs)
        return Shift(removed=removed)
    return None


def _is_shifted(
    want: str,
    have: str,
    shift: Shift,
) -> bool:
    if not want.startswith(shift.removed):
        return False
    rest = want.removeprefix(shift.removed)
    moved = without_end(shift.added + rest)
    return moved == without_end(have)


def indent_of(row: str) -> str:
    """Return the blanks at the beginning of a row."""
    depth = depth_of(row)
    return row[:depth]


def depth_of(row: str) -> int:
    """Return how many blanks are at the beginning of a row."""
    bare = row.lstrip(" \t")
    return len(row) - len(bare)


def is_blank(row: str) -> bool:
    """Tell whether a row has nothing but blanks."""
    return not row.strip()


def same(row: str) -> str:
    """Return a row as it is."""
    return row


def without_end(row: str) -> str:
    """Return a row without the blanks at its end."""
    return row.rstrip(_BLANK)


def without_blanks(row: str) -> str:
    """Return a row without the blanks at both ends; other spaces are text."""
    return row.strip(_BLANK)


def without_returns(rows: Rows) -> list[str]:
    """Return rows without the carriage returns at their ends."""
    return [row.removesuffix("\r") for row in rows]


def _join(rows: Rows, normalize: Normalize) -> str:
    compared = map(normalize, rows)
    text = "\n".join(compared)
    return f"\n{text}\n"
