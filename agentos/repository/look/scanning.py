"""Go through the files of a snapshot: for a text, a definition, or tests."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentos.documents.changes import is_named_as_test
from agentos.repository.look.asking import show_line
from agentos.repository.look.definitions import (
    Definition,
    find_definitions,
    is_python,
)
from agentos.repository.look.opening import FileRefused
from agentos.repository.look.showing import merge, number_lines, shorten
from agentos.repository.look.snapshot import FileRecord
from agentos.repository.look.texts import WITHHELD, FileText, Texts, withhold
from agentos.state.wording import count

_MOST_BYTES = 300_000_000
_MOST_SECONDS = 10.0
_AROUND = 3
_MOST_HITS = 500
_MOST_DEFINITIONS = 8
_MOST_USES = 40
_MOST_TESTS = 150
_ENTRY = re.compile(r"""\[[ ]*["']?([^"'\]\[]*)["']?[ ]*\]""")


@dataclass(frozen=True, slots=True)
class _Found:
    record: FileRecord
    file: FileText


class Scan:
    """Reads files one after the other, up to limits of bytes and time."""

    def __init__(self, texts: Texts, records: Iterable[FileRecord]) -> None:
        self._texts = texts
        self._records = list(records)
        self.files = 0
        self.skipped = 0
        self.is_stopped = False

    def __iter__(self) -> Iterator[_Found]:
        left = _MOST_BYTES
        end = time.monotonic() + _MOST_SECONDS
        for record in self._records:
            left -= record.size
            if left < 0 or time.monotonic() > end:
                self.is_stopped = True
                return
            try:
                file = self._texts.read(record)
            except (FileRefused, OSError):
                self.skipped += 1
                continue
            self.files += 1
            yield _Found(record, file)

    def describe(self) -> str:
        """Say how many files were read, and whether that is all."""
        said = count(self.files, "file")
        if self.skipped:
            said += f", {self.skipped} more could not be read"
        if self.is_stopped:
            missing = len(self._records) - self.files - self.skipped
            said += f"; stopped at a limit, {missing} more were not looked at"
        return said


def search(scan: Scan, text: str) -> list[str]:
    """Return the lines around each place with a text, in any case."""
    wanted = text.casefold()
    rows: list[str] = []
    hits = 0
    for found in scan:
        content = found.file.text
        if wanted not in content.casefold():
            continue
        lines = withhold(found.record.path, content)
        numbers = _hits(lines, wanted)
        if not numbers:
            continue
        if hits < _MOST_HITS:
            rows.append(f"{show_line(found.record.path)}:{_notes(found.file)}")
            shown = numbers[: _MOST_HITS - hits]
            rows += number_lines(lines, _around(shown))
        hits += len(numbers)
    head = f"{count(hits, 'hit')} in {scan.describe()}"
    if hits > _MOST_HITS:
        head += f"; the first {_MOST_HITS} are shown"
    return [head, *rows]


def _hits(lines: list[str], wanted: str) -> list[int]:
    numbers = []
    for number, line in enumerate(lines, 1):
        if line != WITHHELD and wanted in line.casefold():
            numbers.append(number)
    return numbers


def _around(numbers: Iterable[int]) -> list[tuple[int, int]]:
    ranges = []
    for number in numbers:
        first = max(1, number - _AROUND)
        ranges.append((first, number + _AROUND))
    return merge(ranges)


def _notes(file: FileText) -> str:
    if not file.notes:
        return ""
    return f" ({'; '.join(file.notes)})"


def find_symbol(scan: Scan, name: str) -> list[str]:
    """Return the lines of each definition of a name, and where it is used."""
    whole = _dotted(name)
    word = _word(whole)
    bodies: list[str] = []
    uses: list[str] = []
    definitions = 0
    for found in scan:
        if not word.search(found.file.text):
            continue
        path = found.record.path
        lines = withhold(path, found.file.text)
        matching = _matching(path, found.file.text, whole)
        for definition in matching:
            definitions += 1
            if definitions <= _MOST_DEFINITIONS:
                bodies += _body(found, lines, definition)
        uses += _uses(path, lines, word, matching)
    head = f"{count(definitions, 'definition')} of {show_line(name)} in"
    rows = [f"{head} {scan.describe()}"]
    if definitions > _MOST_DEFINITIONS:
        rows[0] += f"; the first {_MOST_DEFINITIONS} are shown"
    rows += bodies
    rows.append(f"used in {count(len(uses), 'line')}:" if uses else "used nowhere else")
    rows += uses[:_MOST_USES]
    more = len(uses) - _MOST_USES
    if more > 0:
        rows.append(f"and in {count(more, 'more line')}")
    return rows


def _dotted(name: str) -> str:
    """Return a name with dots, also that of an entry such as `TABLE["key"]`."""
    return _ENTRY.sub(r".\1", name.strip()).removesuffix("()")


def _word(name: str) -> re.Pattern[str]:
    """Return a pattern for the last part of a name as a whole word."""
    last = name.rpartition(".")[2] or name
    return re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")


def _matching(path: str, text: str, name: str) -> list[Definition]:
    """Return the definitions with a name or with a longer one that ends in it; an entry
    of a table counts only if there is nothing else.
    """
    ending = f".{name}"
    matching = []
    entries = []
    for definition in find_definitions(path, text):
        is_it = definition.name == name
        if not is_it and not definition.name.endswith(ending):
            continue
        if definition.is_entry:
            entries.append(definition)
        else:
            matching.append(definition)
    return matching or entries


def _body(found: _Found, lines: list[str], definition: Definition) -> list[str]:
    path = show_line(found.record.path)
    name = show_line(definition.name)
    place = f"{path}, lines {definition.first}-{definition.last}"
    head = f"{name} in {place}:{_notes(found.file)}"
    return [head, *number_lines(lines, [(definition.first, definition.last)])]


def _uses(
    path: str,
    lines: list[str],
    word: re.Pattern[str],
    definitions: Iterable[Definition],
) -> list[str]:
    starts = {definition.line for definition in definitions}
    uses = []
    for number, line in enumerate(lines, 1):
        if number in starts or not word.search(line):
            continue
        shown = shorten(line.strip())
        uses.append(f"{show_line(path)}:{number}: {shown}")
    return uses


def find_tests(scan: Scan, name: str) -> list[str]:
    """Return the tests whose lines mention a name."""
    word = _word(_dotted(name))
    rows = []
    for found in scan:
        text = found.file.text
        if not word.search(text):
            continue
        path = found.record.path
        lines = withhold(path, text)
        if not is_python(path):
            rows += _uses(path, lines, word, ())
            continue
        for definition in find_definitions(path, text):
            if _is_test(definition) and _mentions(lines, definition, word):
                shown = show_line(definition.name)
                rows.append(f"{show_line(path)}:{definition.line}: {shown}")
    total = len(rows)
    head = (
        f"{count(total, 'test')} with {show_line(name)} in {scan.describe()} of tests"
    )
    if total > _MOST_TESTS:
        head += f"; the first {_MOST_TESTS} are shown"
    return [head, *rows[:_MOST_TESTS]]


def is_test_file(path: str) -> bool:
    """Tell whether a file has tests, by its name."""
    return is_named_as_test(path)


def _is_test(definition: Definition) -> bool:
    return definition.name.rpartition(".")[2].startswith("test")


def _mentions(lines: list[str], definition: Definition, word: re.Pattern[str]) -> bool:
    body = lines[definition.first - 1 : definition.last]
    return any(map(word.search, body))
