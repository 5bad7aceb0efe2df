"""Answer looks for a text: every place of it, more briefly where there are many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentos.repository.look.asking import Look, Range, show_line
from agentos.repository.look.naming import is_test_file
from agentos.repository.look.opening import FileRefused
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
_ENDING = re.compile(r"\.[a-z0-9]{1,5}\Z")

Rows = list[str]


@dataclass(frozen=True, slots=True)
class _Hits:
    """The lines of a file with the text."""

    file: FileText
    numbers: Sequence[int]

    @property
    def path(self) -> str:
        return show_line(self.file.path)

    def in_context(self) -> Rows:
        """Return each line with some lines around it."""
        ranges = around(self.numbers)
        lines = number_lines(self.file.lines, ranges)
        return [f"in {self.path}:{self.file.remark}", *lines]

    def as_lines(self) -> Rows:
        """Return each line alone."""
        rows = []
        for number in self.numbers:
            line = self.file.lines[number - 1].strip()
            rows.append(f"{self.path}:{number}: {line[:_LONGEST_BARE]}")
        return rows


def search(
    files: RecordedFiles,
    look: Look,
    room: int,
) -> Rows:
    """Return the hits, below a row with their number."""
    text = look.target
    if look.is_quoted:
        return _search_in(files, text, look.place, room)
    # Without quotes, the last word is where to search if it is a path.
    words, _, last = text.rpartition(" ")
    words = words.strip()
    if not words:
        return _search_in(files, text, "", room)
    if last != "." and files.below(last):
        return _search_in(files, words, last, room)
    rows = _search_in(files, text, "", room)
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


def _search_in(
    files: RecordedFiles,
    text: str,
    place: str,
    room: int,
) -> Rows:
    paths = list(files.paths)
    if place:
        paths = files.below(place)
        if not paths:
            # It says why nothing is there.
            files.find(place)
    wanted = text.casefold()
    found = []
    more: dict[str, int] = {}
    total = 0
    scan = Scan(files, paths)
    for file in scan:
        numbers = _numbers(file, wanted)
        kept = max(0, _MOST_HITS - total)
        total += len(numbers)
        if numbers[:kept]:
            found.append(_Hits(file, numbers[:kept]))
        if numbers[kept:]:
            more[file.path] = len(numbers) - kept
    head = f"{count(total, 'hit')} in {scan}"
    named = [path for path in paths if wanted in path.casefold()]
    last = []
    if named and not place:
        first = map(show_line, named[:_MOST_PATHS])
        listed = ", ".join(first)
        with_it = count(len(named), "path")
        last = [f"{with_it} with it: {listed}"]
    left = room - len(head) - size_of(last)
    rows = _show(found, more, left)
    return [head, *rows, *last]


def _show(
    found: Sequence[_Hits],
    more: Mapping[str, int],
    room: int,
) -> Rows:
    """Return the hits in context; if that is too long, the first ones so, the next as
    single lines, and of the others how many there are in each file.
    """
    if not more:
        whole = _in_context(found, room)
        if whole is not None:
            return whole
    by_use = sorted(found, key=_code_first)
    number = _MOST_IN_CONTEXT
    first, rest = _divide(by_use, number)
    rows = _in_context(first, room * _IN_CONTEXT)
    while rows is None:
        number //= 2
        first, rest = _divide(by_use, number)
        rows = _in_context(first, room * _IN_CONTEXT)
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


def _code_first(hits: _Hits) -> tuple[bool, bool]:
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


def _count_by_file(numbers: Mapping[str, int]) -> str:
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
