"""Show lines of files, each of them once in a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentos.repository.look.asking import Range
from agentos.repository.look.showing import (
    merge,
    name_ranges,
    number_within,
    size_of,
)
from agentos.repository.look.texts import FileText

_FOR_RANGE = 30
"""What naming a range that is not shown may take."""

Rows = list[str]


@dataclass(frozen=True, slots=True)
class _Shown:
    """Lines that a look has shown."""

    first: int
    last: int
    turn: int
    look: int


class Passages:
    """The lines that the looks of one conversation have shown."""

    def __init__(self) -> None:
        self._turn = 1
        self._look = 1
        self._shown: dict[str, list[_Shown]] = {}

    def begin(
        self,
        turn: int,
        look: int,
    ) -> None:
        """Say which look is answered now, both counted from 1."""
        self._turn = turn
        self._look = look

    def show(
        self,
        file: FileText,
        ranges: Sequence[Range],
        room: int,
    ) -> Rows:
        """Return the numbered lines that fit, and say which are missing and which an
        earlier look has shown.
        """
        wanted = merge(ranges)
        fresh, rows = self._leave_out(file.path, wanted)
        reserved = _FOR_RANGE * (len(fresh) + 1)
        left = room - size_of(rows) - reserved
        numbered = number_within(file.lines, fresh, left)
        rows += numbered.rows
        self.note(file.path, numbered.shown)
        if numbered.hidden:
            listed = name_ranges(numbered.hidden)
            rows.append(f"not shown: {listed}")
        return rows

    def note(
        self,
        path: str,
        ranges: Iterable[Range],
    ) -> None:
        """Remember lines that the present look shows."""
        shown = self._shown.setdefault(path, [])
        for first, last in ranges:
            part = _Shown(first, last, self._turn, self._look)
            shown.append(part)

    def where(
        self,
        path: str,
        number: int,
    ) -> str:
        """Return where an earlier look has shown a line, empty if none has."""
        for shown in self._earlier(path):
            if shown.first <= number <= shown.last:
                return self._name(shown)
        return ""

    def _earlier(
        self,
        path: str,
    ) -> Iterator[_Shown]:
        """Yield what other looks than the present one have shown of a file."""
        present = (self._turn, self._look)
        for shown in self._shown.get(path, ()):
            if (shown.turn, shown.look) != present:
                yield shown

    def _name(
        self,
        shown: _Shown,
    ) -> str:
        if shown.turn == self._turn:
            return f"above in look {shown.look}"
        return f"in turn {shown.turn}, look {shown.look}"

    def _leave_out(
        self,
        path: str,
        ranges: Iterable[Range],
    ) -> tuple[list[Range], Rows]:
        """Return the ranges without what was shown, and a row about each such part."""
        fresh = list(ranges)
        notes = []
        for shown in self._earlier(path):
            rest = []
            for first, last in fresh:
                begin = max(first, shown.first)
                end = min(last, shown.last)
                if begin > end:
                    rest.append((first, last))
                    continue
                notes.append(f"{begin}-{end}: shown {self._name(shown)}")
                if first < begin:
                    rest.append((first, begin - 1))
                if end < last:
                    rest.append((end + 1, last))
            fresh = rest
        return fresh, notes
