"""Answer looks for a text: every place of it, more briefly where there are many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agentos.repository.look.asking import Look, Range, show_line
from agentos.repository.look.definitions import find_definitions, is_python
from agentos.repository.look.naming import first_rows, is_test_file
from agentos.repository.look.opening import FileRefused
from agentos.repository.look.passages import Passages
from agentos.repository.look.prose import is_document
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.scanning import Scan
from agentos.repository.look.showing import (
    count_fitting,
    merge,
    number_lines,
    size_of,
)
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_AROUND = 3
_MOST_HITS = 500
_MOST_PATHS = 20
_MOST_COUNTED = 15
_MOST_IN_CONTEXT = 8
_IN_CONTEXT = 0.5
"""The share of the room for hits in context where they do not all fit."""
_FOR_COUNTS = 1_000
_LONGEST_BARE = 160
_MOST_SEEN = 20
_FOR_INSIDE = 2_000
"""Characters for hits inside of longer words, which are seldom meant."""
_IDENTIFIER = re.compile(r"\w+")
_ENDING = re.compile(r"\.[a-z0-9]{1,5}\Z")

Rows = list[str]


@dataclass(frozen=True)
class _Hits:
    """The lines of a file with the text."""

    file: FileText
    numbers: Sequence[int]

    @property
    def path(self) -> str:
        return show_line(self.file.path)

    @property
    def ranges(self) -> list[Range]:
        """The lines with some lines around them."""
        total = len(self.file.lines)
        ranges = []
        for first, last in around(self.numbers):
            end = min(last, total)
            ranges.append((first, end))
        return ranges

    def in_context(self) -> Rows:
        """Return each line with some lines around it."""
        lines = number_lines(self.file.lines, self.ranges)
        places = [self.path]
        for number in self.numbers:
            test = self._test_at(number)
            if test and test not in places:
                places.append(test)
        listed = ", ".join(places)
        return [f"in {listed}:{self.file.remark}", *lines]

    def as_lines(self) -> Rows:
        """Return each line alone."""
        rows = []
        for number in self.numbers:
            line = self.file.lines[number - 1].strip()
            shown = line[:_LONGEST_BARE]
            test = self._test_at(number)
            if test:
                shown = f"in {test}: {shown}"
            rows.append(f"{self.path}:{number}: {shown}")
        return rows

    def _test_at(
        self,
        number: int,
    ) -> str:
        """Return the name of the test that a line stands in."""
        return self._tests.get(number, "")

    @cached_property
    def _tests(self) -> dict[int, str]:
        """The names of tests by the numbers of their lines."""
        file = self.file
        if not is_test_file(file.path) or not is_python(file.path):
            return {}
        wanted = set(self.numbers)
        found = {}
        for definition in find_definitions(file.path, file.source):
            _, _, name = definition.name.rpartition(".")
            if not name.startswith("test"):
                continue
            # The line with the name says it itself.
            inside = range(definition.line + 1, definition.last + 1)
            for number in wanted.intersection(inside):
                found[number] = show_line(name)
        return found


def search(
    files: RecordedFiles,
    look: Look,
    passages: Passages,
    room: int,
) -> Rows:
    """Return the hits, below a row with their number."""
    text = look.target
    if look.is_quoted:
        return _search_in(files, text, look.place, passages, room)
    # Without quotes, the last word is where to search if it is a path.
    words, _, last = text.rpartition(" ")
    words = words.strip()
    if not words:
        return _search_in(files, text, "", passages, room)
    if last != "." and files.below(last):
        return _search_in(files, words, last, passages, room)
    rows = _search_in(files, text, "", passages, room)
    is_like_path = "/" in last or _ENDING.search(last)
    if is_like_path:
        try:
            files.find(last)
        except FileRefused as error:
            path = show_line(last)
            rows[0] += f"; {path} was searched for as text, because: {error}"
    return rows


def around(numbers: Iterable[int]) -> list[Range]:
    """Return the lines with these numbers and some lines around them."""
    ranges = []
    for number in numbers:
        first = max(1, number - _AROUND)
        last = number + _AROUND
        ranges.append((first, last))
    return merge(ranges)


class _Search:
    """What a text is found in, and what of it is shown."""

    def __init__(
        self,
        text: str,
        passages: Passages,
    ) -> None:
        self.wanted = text.casefold()
        self._passages = passages
        plain = re.escape(self.wanted)
        self._word = re.compile(rf"(?<!\w){plain}(?!\w)")
        self._is_word = _IDENTIFIER.fullmatch(text) is not None
        self.total = 0
        self._whole: list[_Hits] = []
        self._inside: list[_Hits] = []
        """Hits that are parts of longer words, if the text is a word."""
        self._seen: Rows = []
        """What earlier looks have shown."""
        self._more: dict[str, int] = {}

    def look_in(
        self,
        file: FileText,
    ) -> None:
        """Add the hits of a file."""
        numbers = _numbers(file, self.wanted)
        kept = max(0, _MOST_HITS - self.total)
        self.total += len(numbers)
        if numbers[kept:]:
            self._more[file.path] = len(numbers) - kept
        fresh = self._leave_out(file, numbers[:kept])
        whole = []
        inside = []
        for number in fresh:
            line = file.lines[number - 1].casefold()
            if self._is_word and not self._word.search(line):
                inside.append(number)
            else:
                whole.append(number)
        if whole:
            self._whole.append(_Hits(file, whole))
        if inside:
            self._inside.append(_Hits(file, inside))

    def _leave_out(
        self,
        file: FileText,
        numbers: Iterable[int],
    ) -> list[int]:
        """Return the lines that no earlier look has shown, and note where the others
        are.
        """
        fresh = []
        shown: dict[str, list[Range]] = {}
        for number in numbers:
            where = self._passages.where(file.path, number)
            if not where:
                fresh.append(number)
                continue
            same = shown.setdefault(where, [])
            same.append((number, number))
        path = show_line(file.path)
        for where, places in shown.items():
            listed = _name_lines(places)
            self._seen.append(f"{path}:{listed}: shown {where}")
        return fresh

    def show(
        self,
        room: int,
    ) -> Rows:
        """Return the rows that fit, whole words first."""
        seen = first_rows(self._seen, _MOST_SEEN)
        left = room - size_of(seen)
        found = self._whole or self._inside
        shown: list[_Hits] = []
        rows = _show(found, self._more, left, shown)
        for hits in shown:
            self._passages.note(hits.file.path, hits.ranges)
        rows += seen
        if self._whole and self._inside:
            rows += self._show_inside(room - size_of(rows))
        return rows

    def _show_inside(
        self,
        room: int,
    ) -> Rows:
        lines: Rows = []
        places: Rows = []
        for hits in self._inside:
            lines += hits.as_lines()
            places += [hits.path] * len(hits.numbers)
        number = count(len(lines), "hit")
        head = f"{number} inside of longer words:"
        least = min(room, _FOR_INSIDE)
        fitting = count_fitting(lines, least - len(head))
        rows = [head, *lines[:fitting]]
        if lines[fitting:]:
            hidden = Counter(places[fitting:])
            rows.append(_count_by_file(hidden))
        return rows


def _search_in(
    files: RecordedFiles,
    text: str,
    place: str,
    passages: Passages,
    room: int,
) -> Rows:
    paths = list(files.paths)
    if place:
        paths = files.below(place)
        if not paths:
            # It says why nothing is there.
            files.find(place)
    found = _Search(text, passages)
    scan = Scan(files, paths)
    for file in scan:
        found.look_in(file)
    total = count(found.total, "hit")
    head = f"{total} in {scan}"
    named = [path for path in paths if found.wanted in path.casefold()]
    last = []
    if named and not place:
        first = map(show_line, named[:_MOST_PATHS])
        listed = ", ".join(first)
        with_it = count(len(named), "path")
        last = [f"{with_it} with it: {listed}"]
    left = room - len(head) - size_of(last)
    rows = found.show(left)
    return [head, *rows, *last]


def _show(
    found: Sequence[_Hits],
    more: Mapping[str, int],
    room: int,
    shown: list[_Hits],
) -> Rows:
    """Return the hits in context; if that is too long, the first ones so, the next as
    single lines, and of the others how many there are in each file. Those that are
    `shown` in context are added to that list.
    """
    if not more:
        whole = _in_context(found, room)
        if whole is not None:
            shown += found
            return whole
    by_use = sorted(found, key=_code_first)
    number = _MOST_IN_CONTEXT
    first, rest = _divide(by_use, number)
    rows = _in_context(first, room * _IN_CONTEXT)
    while rows is None:
        number //= 2
        first, rest = _divide(by_use, number)
        rows = _in_context(first, room * _IN_CONTEXT)
    shown += first
    lines: Rows = []
    places = []
    for hits in rest:
        lines += hits.as_lines()
        places += [hits.path] * len(hits.numbers)
    fitting = count_fitting(lines, room - size_of(rows) - _FOR_COUNTS)
    if fitting:
        rows.append("the next hits without the lines around them:")
        rows += lines[:fitting]
    numbers = Counter(places[fitting:])
    for path, hidden in more.items():
        numbers[show_line(path)] += hidden
    if numbers:
        rows.append(_count_by_file(numbers))
    return rows


def _in_context(
    found: Iterable[_Hits],
    room: float,
) -> Rows | None:
    """Return hits with the lines around them, None if that is too long."""
    rows: Rows = []
    for hits in found:
        rows += hits.in_context()
        if size_of(rows) > room:
            return None
    return rows


def _code_first(
    hits: _Hits,
) -> tuple[bool, bool]:
    path = hits.file.path
    return is_document(path), is_test_file(path)


def _divide(
    found: Iterable[_Hits],
    number: int,
) -> tuple[list[_Hits], list[_Hits]]:
    """Return the first hits, and the others."""
    left = number
    first = []
    rest = []
    for hits in found:
        if hits.numbers[:left]:
            first.append(_Hits(hits.file, hits.numbers[:left]))
        if hits.numbers[left:]:
            rest.append(_Hits(hits.file, hits.numbers[left:]))
        left = max(0, left - len(hits.numbers))
    return first, rest


def _name_lines(
    places: Iterable[Range],
) -> str:
    parts = []
    for first, last in merge(places):
        part = str(first)
        if last > first:
            part = f"{first}-{last}"
        parts.append(part)
    if len(parts) > _MOST_COUNTED:
        parts[_MOST_COUNTED:] = ["..."]
    return ", ".join(parts)


def _count_by_file(
    numbers: Mapping[str, int],
) -> str:
    total = sum(numbers.values())
    parts = [f"{path} {number}" for path, number in numbers.items()]
    listed = ", ".join(parts[:_MOST_COUNTED])
    more = len(parts) - _MOST_COUNTED
    if more > 0:
        listed += f", and {count(more, 'more file')}"
    return f"not shown, {count(total, 'more hit')}: {listed}"


def _numbers(
    file: FileText,
    wanted: str,
) -> list[int]:
    """Return the numbers of the lines with a text, not counting withheld ones."""
    whole = file.source.casefold()
    if wanted not in whole:
        return []
    numbers = []
    for number, line in enumerate(file.lines, 1):
        if wanted in line.casefold():
            numbers.append(number)
    return numbers
