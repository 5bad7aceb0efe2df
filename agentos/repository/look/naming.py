"""Answer looks for a name: its definitions, its uses, and the tests that touch it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import PurePosixPath

from agentos.documents.changes import is_named_as_test
from agentos.repository.look.asking import show_line
from agentos.repository.look.definitions import (
    Definition,
    find_definitions,
    is_python,
)
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.scanning import Scan
from agentos.repository.look.showing import number_lines, shorten
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_MOST_DEFINITIONS = 8
_MOST_USES = 40
_SPECIAL = (
    "Python calls this name through operators and built-in functions, such as str() or"
    " sorted(); such uses are not found."
)
_MOST_TESTS = 150
_TEST_FOLDERS = frozenset({"test", "tests"})
_ENTRY = re.compile(r"""\[[ ]*["']?([^"'\]\[]*)["']?[ ]*\]""")

Rows = list[str]


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that is looked for."""

    whole: str
    """With dots, also that of an entry such as `TABLE["key"]`."""
    word: re.Pattern[str]
    """Its last part as a whole word."""
    use: re.Pattern[str]
    """How it is used; what is defined inside of something has a dot or quotes before."""
    is_module: bool


def find_symbol(files: RecordedFiles, target: str) -> Rows:
    """Return the lines of each definition of a name, then where it is used."""
    name = _read_name(target)
    found: list[_Found] = []
    uses: Rows = []
    uses_in_tests: Rows = []
    scan = Scan(files, files.paths)
    for file in scan:
        if not name.word.search(file.source):
            continue
        definitions = find_definitions(file.path, file.source)
        matching = definitions_of(file.path, definitions, name.whole)
        for definition in matching:
            place = _Found(file, definition)
            found.append(place)
        lines = _uses(file, name.use, matching)
        if _is_test_file(file.path):
            uses_in_tests += lines
        else:
            uses += lines
    # An entry of a table counts only where nothing else has the name.
    others = list(filterfalse(_is_entry, found))
    found = others or found
    total = count(len(found), "definition")
    head = f"{total} of {show_line(target)} in {scan}"
    if len(found) > _MOST_DEFINITIONS:
        head += f"; the first {_MOST_DEFINITIONS} are shown"
    rows = [head]
    for each in found[:_MOST_DEFINITIONS]:
        rows += each.show()
    used = count(len(uses), "line")
    tested = count(len(uses_in_tests), "line")
    rows.append(f"used in {used}, and in {tested} of tests:")
    rows += _first(uses, _MOST_USES)
    if _is_special(target):
        rows.append(_SPECIAL)
    return rows


def find_tests(files: RecordedFiles, target: str) -> Rows:
    """Return the tests that mention a name; of a module, those of files that do."""
    name = _read_name(target)
    tests: Rows = []
    others: Rows = []
    paths = filter(_is_test_file, files.paths)
    scan = Scan(files, paths)
    for file in scan:
        if not name.word.search(file.source):
            continue
        found = _tests_with(file, name)
        tests += found
        if not found:
            others += _uses(file, name.word, ())
    total = count(len(tests), "test")
    rows = [f"{total} with {show_line(target)} in {scan} of tests"]
    rows += _first(tests, _MOST_TESTS)
    if others:
        lines = count(len(others), "line")
        rows.append(f"{lines} in files of tests where no test has it:")
        rows += _first(others, _MOST_USES)
    if _is_special(target):
        rows.append(_SPECIAL)
    return rows


def _is_special(target: str) -> bool:
    """Tell whether Python itself calls what is looked for."""
    last = target.strip(" ()").rpartition(".")[2]
    return last.startswith("__") and last.endswith("__") and len(last) > 4


@dataclass(frozen=True, slots=True)
class _Found:
    file: FileText
    definition: Definition

    def show(self) -> Rows:
        """Return the numbered lines below a line that says where they are."""
        file = self.file
        first = self.definition.first
        last = self.definition.last
        name = show_line(self.definition.name)
        path = show_line(file.path)
        head = f"{name} in {path}, lines {first}-{last}:{file.remark}"
        place = (first, last)
        lines = number_lines(file.lines, [place])
        return [head, *lines]


def _is_entry(found: _Found) -> bool:
    return found.definition.is_entry


def _read_name(target: str) -> _Name:
    is_module = "/" in target or target.endswith(".py")
    whole = _ENTRY.sub(r".\1", target)
    whole = whole.removesuffix("()")
    if is_module:
        whole = PurePosixPath(target).stem
    before, _, last = whole.rpartition(".")
    last = re.escape(last or whole)
    word = re.compile(rf"(?<!\w){last}(?!\w)")
    use = word
    if before:
        use = re.compile(rf"""[."']{last}(?!\w)""")
    return _Name(
        whole,
        word,
        use,
        is_module,
    )


def definitions_of(
    path: str,
    definitions: Iterable[Definition],
    name: str,
) -> list[Definition]:
    """Return the definitions with a name, or with a longer one that ends in it; the
    name may begin with that of the module.
    """
    matching = []
    ending = f".{name}"
    module, _, _ = path.rpartition(".")
    package = module.removesuffix("/__init__")
    prefix = package.replace("/", ".")
    for definition in definitions:
        whole = f".{prefix}.{definition.name}"
        if not whole.endswith(ending):
            continue
        _, _, last = definition.name.rpartition(".")
        if ending.endswith(f".{last}"):
            matching.append(definition)
    return matching


def _uses(
    file: FileText, use: re.Pattern[str], definitions: Iterable[Definition]
) -> Rows:
    starts = {definition.line for definition in definitions}
    path = show_line(file.path)
    uses = []
    for number, line in enumerate(file.lines, 1):
        if number in starts:
            continue
        if use.search(line):
            stripped = line.strip()
            shown = shorten(stripped)
            uses.append(f"{path}:{number}: {shown}")
    return uses


def _tests_with(file: FileText, name: _Name) -> Rows:
    """Return the test functions of a Python file that mention a name."""
    if not is_python(file.path):
        return []
    path = show_line(file.path)
    rows = []
    for definition in find_definitions(file.path, file.source):
        first = definition.first
        last = definition.last
        _, _, function = definition.name.rpartition(".")
        if not function.startswith("test"):
            continue
        body = file.lines[first - 1 : last]
        found = map(name.word.search, body)
        has_name = any(found)
        if has_name or name.is_module:
            shown = show_line(definition.name)
            rows.append(f"{path}:{first}-{last}: {shown}")
    return rows


def _first(rows: Rows, most: int) -> Rows:
    """Return the first rows, and say how many are missing."""
    missing = len(rows) - most
    if missing <= 0:
        return rows
    more = count(missing, "more line")
    kept = rows[:most]
    kept.append(f"cut, {more}")
    return kept


def _is_test_file(path: str) -> bool:
    if is_named_as_test(path):
        return True
    lowered = path.casefold()
    folders = lowered.split("/")
    folders.pop()
    return not _TEST_FOLDERS.isdisjoint(folders)
