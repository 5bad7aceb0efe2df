"""Answer looks for the tests of a name."""

from __future__ import annotations

from agentos.repository.look.asking import show_line
from agentos.repository.look.definitions import find_definitions, is_python
from agentos.repository.look.naming import (
    SPECIAL,
    Name,
    first_rows,
    is_special,
    is_test_file,
    read_name,
)
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.scanning import Scan
from agentos.repository.look.showing import shorten
from agentos.repository.look.texts import FileText
from agentos.repository.look.uses import show_use
from agentos.state.wording import count

_MOST_TESTS = 150
_MOST_LINES = 40
_LONGEST_LINE = 120
_ONLY_MENTIONS = (
    "Only tests that mention it are found; ask for the tests of what uses it, too."
)

Rows = list[str]


def find_tests(files: RecordedFiles, target: str) -> Rows:
    """Return the tests that mention a name, first those that call it; of a module,
    those of files that mention it.
    """
    name = read_name(target)
    calls: Rows = []
    mentions: Rows = []
    others: Rows = []
    paths = filter(is_test_file, files.paths)
    scan = Scan(files, paths)
    for file in scan:
        if not name.word.search(file.source):
            continue
        found = False
        for is_call, row in _tests_with(file, name):
            found = True
            if is_call:
                calls.append(row)
            else:
                mentions.append(row)
        if not found:
            others += _lines_with(file, name)
    tests = [*calls, *mentions]
    total = count(len(tests), "test")
    head = f"{total} with {show_line(target)} in {scan} of tests"
    rows = [head, *first_rows(tests, _MOST_TESTS)]
    if others:
        lines = count(len(others), "line")
        rows.append(f"{lines} in files of tests where no test has it:")
        rows += first_rows(others, _MOST_LINES)
    rows.append(_ONLY_MENTIONS)
    if is_special(name):
        rows.append(SPECIAL)
    return rows


def _tests_with(file: FileText, name: Name) -> list[tuple[bool, str]]:
    """Return the test functions of a Python file that mention a name, each with whether
    it calls it.
    """
    if not is_python(file.path):
        return []
    path = show_line(file.path)
    found = []
    for definition in find_definitions(file.path, file.source):
        first = definition.first
        last = definition.last
        _, _, function = definition.name.rpartition(".")
        if not function.startswith("test"):
            continue
        number, is_call = _best_line(file, name, first, last)
        if not number and not name.is_module:
            continue
        row = f"{path}:{first}-{last}: {show_line(definition.name)}"
        if number:
            line = file.lines[number - 1].strip()
            row += f", line {number}: {line[:_LONGEST_LINE]}"
        found.append((is_call, row))
    return found


def _best_line(
    file: FileText,
    name: Name,
    first: int,
    last: int,
) -> tuple[int, bool]:
    """Return the first line that calls a name, or else that mentions it, or 0."""
    best = 0
    for number in range(first, last + 1):
        line = file.lines[number - 1]
        if not name.word.search(line):
            continue
        if name.call.search(line):
            return number, True
        best = best or number
    return best, False


def _lines_with(file: FileText, name: Name) -> Rows:
    rows = []
    for number, line in enumerate(file.lines, 1):
        if name.word.search(line):
            row = show_use(file.path, number, line)
            rows.append(shorten(row))
    return rows
