"""Show lines of files, each of them once in a turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    look: int


class Passages:
    """The lines that the looks of one turn have shown."""

    def __init__(self) -> None:
        self.look = 1
        """The number of the look that is being answered."""
        self._shown: dict[str, list[_Shown]] = {}

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
        shown = self._shown.setdefault(file.path, [])
        for first, last in numbered.shown:
            part = _Shown(first, last, self.look)
            shown.append(part)
        if numbered.hidden:
            listed = name_ranges(numbered.hidden)
            rows.append(f"not shown: {listed}")
        return rows

    def _leave_out(
        self,
        path: str,
        ranges: Iterable[Range],
    ) -> tuple[list[Range], Rows]:
        """Return the ranges without what was shown, and a row about each such part."""
        fresh = list(ranges)
        notes = []
        for shown in self._shown.get(path, ()):
            if shown.look == self.look:
                continue
            rest = []
            for first, last in fresh:
                begin = max(first, shown.first)
                end = min(last, shown.last)
                if begin > end:
                    rest.append((first, last))
                    continue
                notes.append(f"{begin}-{end}: shown above in look {shown.look}")
                if first < begin:
                    rest.append((first, begin - 1))
                if end < last:
                    rest.append((end + 1, last))
            fresh = rest
        return fresh, notes
