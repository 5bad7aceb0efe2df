"""The lines of a file to show, the most important ones first, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentos.repository.look.answers import outline
from agentos.repository.look.asking import Range
from agentos.repository.look.definitions import Definition
from agentos.repository.look.masking import show_name
from agentos.repository.look.showing import (
    fit,
    merge,
    number_lines,
    number_within,
    size_of,
)
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_CALLED_LINES = 60
_FOR_REMARKS = 400
_MOST_RANGES = 15
_MOST_TRIED = 200


class Excerpt:
    """The lines of a file to show, and the definitions to list."""

    def __init__(
        self,
        text: FileText,
    ) -> None:
        self.text = text
        self.ranges: list[Range] = []
        """Places in the order of their importance: each is shown whole or not at all."""
        self.listed: list[Definition] = []
        self.called: list[Definition] = []
        """What the shown functions call: shown, too, as far as there is room."""
        self.others: list[Range] = []
        """Places that are shown if there is room left after all else."""
        self.remark = ""
        """What neither the outline nor the lines show."""
        self.title = "Also there, of"
        """What stands above the outline."""

    def add(
        self,
        first: int,
        last: int,
    ) -> None:
        """Show some lines, as far as the file has them."""
        self.ranges += self._inside(first, last)

    def add_if_room(
        self,
        first: int,
        last: int,
    ) -> None:
        """Show some lines if there is room left after all else."""
        self.others += self._inside(first, last)

    def _inside(
        self,
        first: int,
        last: int,
    ) -> list[Range]:
        total = len(self.text.lines)
        if first > total:
            return []
        # A range around a hit may go beyond the file.
        begin = max(1, first)
        end = min(last, total)
        return [(begin, end)]

    def render(
        self,
        head: str,
        limit: int,
        outline_limit: int,
    ) -> str:
        """Return everything below a heading, in at most so many characters; nothing if
        there is nothing to show.
        """
        every = outline(self.text, self.listed)
        reserved = min(size_of(every), outline_limit)
        room = limit - len(head) - reserved - _FOR_REMARKS
        shown = _Shown(self.text.lines, room)
        for place in self.ranges:
            shown.add(place)
        called = self._add_called(shown)
        for place in self.others:
            shown.add(place)
        rows = [head, ""]
        rows += self._outline(shown.ranges, outline_limit)
        rows += self._number(shown, room)
        if len(rows) == 2:
            return ""
        if called:
            names = "`, `".join(called)
            rows.append(f"Shown because it is called there: `{names}`.")
        return fit(rows, limit)

    def _outline(
        self,
        ranges: Sequence[Range],
        limit: int,
    ) -> list[str]:
        """Return the definitions that are not shown, in the order of their lines."""
        hidden = sorted(_outside(self.listed, ranges), key=_line_of)
        listed = outline(self.text, hidden)
        rows = []
        if listed:
            fitting = fit(listed, limit)
            rows = [f"{self.title} {self._whole}:", fitting]
        if self.remark:
            rows.append(self.remark)
        return rows

    @property
    def _whole(self) -> str:
        number = count(len(self.text.lines), "line")
        return f"{number}{self.text.remark}"

    def _number(
        self,
        shown: _Shown,
        room: int,
    ) -> list[str]:
        """Return the lines; if no place fits, the beginning of the first."""
        lines = self.text.lines
        if shown.ranges:
            ranges = shown.ranges
            numbered = number_lines(lines, ranges)
        else:
            begun = number_within(lines, self.ranges[:1], room)
            ranges = begun.shown
            numbered = begun.rows
        if not ranges:
            return []
        places = _name_ranges(ranges)
        title = f"Lines {places} of {self._whole}:"
        if ranges == [(1, len(lines))]:
            title = f"All of its {self._whole}:"
        return [title, *numbered]

    def _add_called(
        self,
        shown: _Shown,
    ) -> list[str]:
        """Show what is called as far as it fits, and list the rest; return the names
        of what is shown.
        """
        names = []
        for definition in self.called:
            place = (definition.first, definition.last)
            if shown.has(place):
                continue
            lines = definition.last - definition.first
            if lines < _CALLED_LINES and shown.add(place):
                name = show_name(definition.name)
                names.append(name)
            else:
                self.listed.append(definition)
        return names


class _Shown:
    """The places of a file that fit into some room."""

    def __init__(
        self,
        lines: Sequence[str],
        room: int,
    ) -> None:
        self._lines = lines
        self._room = room
        self._tried = 0
        self.ranges: list[Range] = []

    def has(
        self,
        place: Range,
    ) -> bool:
        """Tell whether all of a place is shown."""
        return merge([*self.ranges, place]) == self.ranges

    def add(
        self,
        place: Range,
    ) -> bool:
        """Show a place if all of it fits; tell whether it is shown."""
        if self.has(place):
            return True
        self._tried += 1
        if self._tried > _MOST_TRIED:
            return False
        ranges = merge([*self.ranges, place])
        rows = number_lines(self._lines, ranges)
        if size_of(rows) > self._room:
            return False
        self.ranges = ranges
        return True


def numbers_in(ranges: Iterable[Range]) -> set[int]:
    """Return the numbers of all lines in some ranges."""
    numbers: set[int] = set()
    for first, last in ranges:
        inside = range(first, last + 1)
        numbers.update(inside)
    return numbers


def _name_ranges(ranges: Sequence[Range]) -> str:
    shown = []
    for first, last in ranges[:_MOST_RANGES]:
        place = str(first)
        if last > first:
            place = f"{first}-{last}"
        shown.append(place)
    if len(ranges) > _MOST_RANGES:
        shown.append("...")
    return ", ".join(shown)


def _outside(
    definitions: Iterable[Definition],
    ranges: Sequence[Range],
) -> Iterator[Definition]:
    """Yield the definitions whose line is not shown."""
    shown = numbers_in(ranges)
    for definition in dict.fromkeys(definitions):
        if definition.line not in shown:
            yield definition


def _line_of(definition: Definition) -> int:
    return definition.line
