"""Choose the lines of a file that an issue is about, and show them with numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.callees import find_callees
from agentos.repository.context.mentions import Mention, has_text
from agentos.repository.context.query import Frame, Query, looks_like_code
from agentos.repository.look.answers import outline
from agentos.repository.look.asking import Range
from agentos.repository.look.definitions import Definition
from agentos.repository.look.masking import show_name
from agentos.repository.look.searching import around
from agentos.repository.look.showing import (
    fit,
    merge,
    number_lines,
    number_within,
    size_of,
)
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_BODY_LINES = 160
"""Lines up to which a definition is shown as a whole."""
_CALLED_LINES = 60
_FOR_HEAD = 1_000
_FOR_REMARKS = 400
_BEGINNING = 60
_NEAR_FRAME = 12
_FEW_LINES = 24
_HITS_OF_TEXT = 3
_MOST_HITS = 15
_MOST_TITLES = 2_000
_SHORTEST_TITLE = 4


class Excerpt:
    """The lines of a file to show, and the definitions to list."""

    def __init__(
        self,
        text: FileText,
    ) -> None:
        self.text = text
        self.ranges: list[Range] = []
        self.listed: list[Definition] = []
        self.called: list[Definition] = []
        """What the shown functions call: shown, too, as far as there is room."""

    def add(
        self,
        first: int,
        last: int,
    ) -> None:
        """Show some lines, as far as the file has them."""
        total = len(self.text.lines)
        if first > total:
            return
        # A range around a hit may go beyond the file.
        begin = max(1, first)
        end = min(last, total)
        self.ranges.append((begin, end))

    def render(
        self,
        head: str,
        limit: int,
        outline_limit: int,
    ) -> str:
        """Return everything below a heading, in at most so many characters."""
        lines = self.text.lines
        called = self._add_called(limit - _FOR_HEAD)
        ranges = merge(self.ranges)
        number = count(len(lines), "line")
        whole = f"{number}{self.text.remark}"
        rows = [head, ""]
        hidden = _outside(self.listed, ranges)
        listed = outline(self.text, hidden)
        if listed:
            rows.append(f"Outline of {whole}:")
            rows.append(fit(listed, outline_limit))
        if ranges:
            places = _name_ranges(ranges)
            title = f"Lines {places} of {whole}:"
            if ranges == [(1, len(lines))]:
                title = f"All of its {whole}:"
            rows.append(title)
            room = limit - size_of(rows) - _FOR_REMARKS
            numbered = number_within(lines, ranges, room)
            rows += numbered.rows
            if numbered.hidden:
                missing = _name_ranges(numbered.hidden)
                rows.append(f"Not shown: {missing}.")
            if called:
                names = "`, `".join(called)
                rows.append(f"Shown because it is called there: `{names}`.")
        return fit(rows, limit)

    def _add_called(
        self,
        limit: int,
    ) -> list[str]:
        """Show what is called as far as it fits, and list the rest; return the names
        of what is shown.
        """
        names = []
        for definition in self.called:
            place = (definition.first, definition.last)
            ranges = merge([*self.ranges, place])
            if ranges == merge(self.ranges):
                continue
            lines = definition.last - definition.first
            size = size_of(number_lines(self.text.lines, ranges))
            if lines >= _CALLED_LINES or size > limit:
                self.listed.append(definition)
                continue
            self.ranges.append(place)
            names.append(show_name(definition.name))
        return names


def choose_lines(
    text: FileText,
    mention: Mention,
    query: Query,
    files: BoundedFiles,
    *,
    is_named: bool,
    small: int,
) -> Excerpt:
    """Return what of a file the issue is about.

    A file that the issue names is shown whole up to a `small` number of characters,
    a larger one by its outline and the lines with what the issue mentions.
    """
    excerpt = Excerpt(text)
    total = len(text.lines)
    if is_named and len(text.source) <= small:
        excerpt.add(1, total)
        return excerpt
    definitions = files.definitions(text.path)
    chosen = list(mention.definitions)
    searched = list(mention.texts)
    if is_named:
        chosen += _titled(definitions, query.source)
        searched += query.texts
        searched += filter(looks_like_code, mention.used)
        excerpt.listed += definitions
    for definition in chosen:
        _add_body(excerpt, definition, definitions)
    excerpt.called += find_callees(text, mention.definitions, files)
    for frame in mention.frames:
        _add_frame(excerpt, frame, definitions)
    hits = _find_lines(text, searched, excerpt.ranges)
    for first, last in around(hits):
        excerpt.add(first, last)
    if not excerpt.ranges:
        excerpt.add(1, _FEW_LINES)
    return excerpt


def _name_ranges(ranges: Sequence[Range]) -> str:
    shown = []
    for first, last in ranges[:_MOST_HITS]:
        place = str(first)
        if last > first:
            place = f"{first}-{last}"
        shown.append(place)
    if len(ranges) > _MOST_HITS:
        shown.append("...")
    return ", ".join(shown)


def _outside(
    definitions: Iterable[Definition],
    ranges: Sequence[Range],
) -> Iterator[Definition]:
    """Yield the definitions whose line is not shown."""
    shown = _numbers(ranges)
    for definition in dict.fromkeys(definitions):
        if definition.line not in shown:
            yield definition


def _titled(
    definitions: Sequence[Definition],
    source: str,
) -> Iterator[Definition]:
    """Yield the sections whose headings occur in a text, letter by letter."""
    for definition in definitions[:_MOST_TITLES]:
        title = definition.name.strip("`*_ ")
        if len(title) < _SHORTEST_TITLE:
            continue
        is_title = title[0].isupper()
        if is_title and has_text(source, title):
            yield definition


def _add_body(
    excerpt: Excerpt,
    definition: Definition,
    definitions: Sequence[Definition],
) -> None:
    """Show a definition; of a long one its beginning, and what is defined in it."""
    first = definition.first
    last = definition.last
    if last - first < _BODY_LINES:
        excerpt.add(first, last)
        return
    end = first + _BEGINNING - 1
    excerpt.add(first, end)
    for inner in definitions:
        if first < inner.first <= last:
            excerpt.listed.append(inner)


def _add_frame(
    excerpt: Excerpt,
    frame: Frame,
    definitions: Sequence[Definition],
) -> None:
    """Show the function of a frame; without one, or in a long one, lines around the
    place.
    """
    line = frame.line
    before = line - _NEAR_FRAME
    after = line + _NEAR_FRAME
    function = _function_of(frame, definitions)
    if function is None:
        excerpt.add(before, after)
        return
    first = function.first
    last = function.last
    if last - first < _BODY_LINES:
        excerpt.add(first, last)
        return
    excerpt.add(first, function.line)
    excerpt.add(before, after)


def _function_of(
    frame: Frame,
    definitions: Iterable[Definition],
) -> Definition | None:
    """Return the function that a frame names, preferably the one with its line: the
    file may have changed since a traceback was printed.
    """
    _, _, wanted = frame.symbol.rpartition(".")
    found = None
    for definition in definitions:
        _, _, name = definition.name.rpartition(".")
        if not wanted or name != wanted:
            continue
        if definition.first <= frame.line <= definition.last:
            return definition
        found = found or definition
    return found


def _find_lines(
    text: FileText,
    searched: Iterable[str],
    ranges: Sequence[Range],
) -> list[int]:
    """Return the first lines with each text, other than those shown anyway."""
    shown = _numbers(ranges)
    found: list[int] = []
    for wanted in dict.fromkeys(searched):
        if not has_text(text.source, wanted):
            continue
        fresh = []
        for number, line in enumerate(text.lines, 1):
            if number in shown:
                continue
            if has_text(line, wanted):
                fresh.append(number)
        found += fresh[:_HITS_OF_TEXT]
    distinct = sorted(set(found))
    return distinct[:_MOST_HITS]


def _numbers(ranges: Iterable[Range]) -> set[int]:
    numbers: set[int] = set()
    for first, last in ranges:
        inside = range(first, last + 1)
        numbers.update(inside)
    return numbers
