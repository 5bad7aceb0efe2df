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
        self._texts: dict[Callable[[str], str], str] = {}

    def find(self, wanted: Rows, normalize: Callable[[str], str]) -> list[int]:
        """Return the first rows where the wanted ones begin, in the form compared."""
        if not self.plain:
            return []
        text = self._texts.get(normalize)
        if text is None:
            text = _join(self.plain, normalize)
            self._texts[normalize] = text
        pattern = _join(wanted, normalize)
        found: list[int] = []
        row = last = 0
        place = text.find(pattern)
        while place >= 0 and len(found) < _MAX_TRIED:
            row += text.count("\n", last, place)
            found.append(row)
            last = place
            place = text.find(pattern, place + 1)
        return found

    def locate(self, wanted: Rows, level: Level) -> list[int]:
        """Return the rows where the wanted ones begin at a level."""
        if level is Level.EXACT:
            return self.find(wanted, same)
        if level is Level.BLANKS:
            return self.find(wanted, without_end)
        trimmed = self.find(wanted, str.strip)
        if level is Level.TRIMMED:
            return trimmed
        if len(trimmed) * len(wanted) > _MAX_COMPARED:
            return []
        size = len(wanted)
        return [
            start
            for start in trimmed
            if find_shift(wanted, self.plain[start : start + size]) is not None
        ]


@dataclass(frozen=True, slots=True)
class Shift:
    """The indentation that lines of a file have more or less than others."""

    added: str = ""
    removed: str = ""


def find_shift(wanted: Rows, found: Rows) -> Shift | None:
    """Return how the indentation of all wanted rows differs from that in the file.

    None if it does not differ by the same amount in all of them.
    """
    shift = None
    for want, have in zip(wanted, found, strict=True):
        if not want.strip():
            continue
        if shift is None:
            shift = _compare(indent_of(want), indent_of(have))
        if shift is None or not _is_shifted(want, have, shift):
            return None
    return shift


def _compare(want: str, have: str) -> Shift | None:
    if have.endswith(want):
        return Shift(added=have.removesuffix(want))
    if want.endswith(have):
        return Shift(removed=want.removesuffix(have))
    return None


def _is_shifted(want: str, have: str, shift: Shift) -> bool:
    if not want.startswith(shift.removed):
        return False
    moved = shift.added + want.removeprefix(shift.removed)
    return moved.rstrip(_BLANK) == have.rstrip(_BLANK)


def indent_of(row: str) -> str:
    """Return the blanks at the beginning of a row."""
    return row[: len(row) - len(row.lstrip(" \t"))]


def same(row: str) -> str:
    """Return a row as it is."""
    return row


def without_end(row: str) -> str:
    """Return a row without the blanks at its end."""
    return row.rstrip(_BLANK)


def without_returns(rows: Rows) -> list[str]:
    """Return rows without the carriage returns at their ends."""
    return [row.removesuffix("\r") for row in rows]


def _join(rows: Rows, normalize: Callable[[str], str]) -> str:
    text = "\n".join(map(normalize, rows))
    return f"\n{text}\n"
