"""Answer one look: go to the file that it names, or through all files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from agentos.documents.changes import is_named_as_test
from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import find_repository
from agentos.repository.look.asking import Look, show_line
from agentos.repository.look.definitions import (
    Definition,
    find_definitions,
    is_python,
)
from agentos.repository.look.opening import FileRefused
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.showing import merge, number_lines, shorten
from agentos.repository.look.snapshot import NO_GIT
from agentos.repository.look.texts import FileText
from agentos.state.terminal_text import clean_text
from agentos.state.wording import count

_MOST_CHARACTERS = 200_000_000
_AROUND = 3
_MOST_HITS = 500
_MOST_NAMES = 20
_MOST_DEFINITIONS = 8
_MOST_USES = 40
_MOST_TESTS = 150
_MOST_COMMITS = 20
_LOG_LIMIT = 200_000
_ID_LENGTH = 10
_TEST_FOLDERS = frozenset({"test", "tests"})
_ENTRY = re.compile(r"""\[[ ]*["']?([^"'\]\[]*)["']?[ ]*\]""")
_ENDING = re.compile(r"\.[a-z0-9]{1,5}\Z")

Rows = list[str]


def answer_look(files: RecordedFiles, look: Look) -> Rows:
    """Return the rows of an answer, of which the first says what it is; raise
    `FileRefused` with the reason if nothing can be shown.
    """
    return _ANSWERS[look.verb](files, look)


class _Scan:
    """Reads files one after the other, up to a limit."""

    def __init__(self, files: RecordedFiles, paths: Iterable[str]) -> None:
        self._files = files
        self._paths = list(paths)
        self._read = 0
        self._refused = 0

    def __iter__(self) -> Iterator[FileText]:
        left = _MOST_CHARACTERS
        for path in self._paths:
            try:
                text = self._files.read(path)
            except FileRefused:
                self._refused += 1
                continue
            left -= len(text.source)
            if left < 0:
                return
            self._read += 1
            yield text

    def __str__(self) -> str:
        said = count(self._read, "file")
        if self._refused:
            said += f" ({self._refused} more are not text)"
        missing = len(self._paths) - self._read - self._refused
        if missing:
            said += f"; stopped at a limit, {missing} more were not looked at"
        return said


def _outline(files: RecordedFiles, look: Look) -> Rows:
    text = files.read(files.find(look.target))
    rows = []
    for definition in find_definitions(text.path, text.source):
        if definition.is_entry or definition.line > len(text.lines):
            continue
        indent = "  " * definition.depth
        line = text.lines[definition.line - 1].strip()
        place = f"{definition.first}-{definition.last}"
        rows.append(f"{place:>11}  {indent}{shorten(line)}")
    total = count(len(text.lines), "line")
    head = f"{count(len(rows), 'definition')} and headings in {total}:{text.remark}"
    return [head, *rows]


def _read(files: RecordedFiles, look: Look) -> Rows:
    text = files.read(files.find(look.target))
    total = len(text.lines)
    if not total:
        return [f"an empty file{text.remark}"]
    names = []
    inside = []
    for first, last in merge(look.ranges or [(1, total)]):
        if first <= total:
            end = min(last, total)
            names.append(f"{first}-{end}")
            inside.append((first, end))
    if not inside:
        return [f"no such lines: it has {count(total, 'line')}{text.remark}"]
    head = f"lines {', '.join(names)} of {total}:{text.remark}"
    return [head, *number_lines(text.lines, inside)]


def _search(files: RecordedFiles, look: Look) -> Rows:
    if look.is_quoted:
        return _search_in(files, look.target, look.place)
    # Without quotes, the last word is where to search if it is a path.
    words, _, last = look.target.rpartition(" ")
    if not words.strip():
        return _search_in(files, look.target, "")
    if last != "." and files.below(last):
        return _search_in(files, words.strip(), last)
    rows = _search_in(files, look.target, "")
    if "/" in last or _ENDING.search(last):
        try:
            files.find(last)
        except FileRefused as error:
            rows[0] += f"; {show_line(last)} was taken for a part of the text: {error}"
    return rows


def _search_in(files: RecordedFiles, text: str, place: str) -> Rows:
    paths = list(files.paths)
    if place:
        paths = files.below(place) or [files.find(place)]
    wanted = text.casefold()
    rows = []
    hits = 0
    scan = _Scan(files, paths)
    for file in scan:
        if wanted not in file.source.casefold():
            continue
        numbers = []
        for number, line in enumerate(file.lines, 1):
            if wanted in line.casefold():
                numbers.append(number)
        shown = numbers[: max(0, _MOST_HITS - hits)]
        if shown:
            rows.append(f"in {show_line(file.path)}:{file.remark}")
            rows += number_lines(file.lines, _around(shown))
        hits += len(numbers)
    head = f"{count(hits, 'hit')} in {scan}"
    if hits > _MOST_HITS:
        head += f"; the first {_MOST_HITS} are shown"
    named = [show_line(path) for path in paths if wanted in path.casefold()]
    if named and not place:
        listed = ", ".join(named[:_MOST_NAMES])
        rows.append(f"{count(len(named), 'path')} with it: {listed}")
    return [head, *rows]


def _around(numbers: Iterable[int]) -> list[tuple[int, int]]:
    ranges = []
    for number in numbers:
        first = max(1, number - _AROUND)
        ranges.append((first, number + _AROUND))
    return merge(ranges)


def _symbol(files: RecordedFiles, look: Look) -> Rows:
    name = _dotted(look.target)
    word = _word(name)
    found: list[tuple[FileText, Definition]] = []
    uses: Rows = []
    in_tests = 0
    scan = _Scan(files, files.paths)
    for file in scan:
        if not word.search(file.source):
            continue
        matching = _matching(file, name)
        found += [(file, definition) for definition in matching]
        lines = _uses(file, word, matching)
        if _is_test_file(file.path):
            in_tests += len(lines)
        else:
            uses += lines
    # The entry of a table counts only where nothing else has the name.
    others = [pair for pair in found if not pair[1].is_entry]
    found = others or found
    head = f"{count(len(found), 'definition')} of {show_line(name)} in {scan}"
    if len(found) > _MOST_DEFINITIONS:
        head += f"; the first {_MOST_DEFINITIONS} are shown"
    rows = [head]
    for file, definition in found[:_MOST_DEFINITIONS]:
        rows += _body(file, definition)
    more = f"and in {count(in_tests, 'line')} of tests"
    rows.append(f"used in {count(len(uses), 'line')}, {more}:")
    rows += uses[:_MOST_USES]
    if len(uses) > _MOST_USES:
        missing = count(len(uses) - _MOST_USES, "more line")
        rows.append(f"cut, {missing}")
    return rows


def _dotted(name: str) -> str:
    """Return a name with dots, also that of an entry such as `TABLE["key"]`."""
    if "/" in name or name.endswith(".py"):
        return PurePosixPath(name).stem
    return _ENTRY.sub(r".\1", name).removesuffix("()")


def _word(name: str) -> re.Pattern[str]:
    """Return a pattern for the last part of a name as a whole word."""
    last = name.rpartition(".")[2] or name
    return re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")


def _matching(file: FileText, name: str) -> list[Definition]:
    """Return the definitions with a name, or with a longer one that ends in it."""
    matching = []
    for definition in find_definitions(file.path, file.source):
        if f".{definition.name}".endswith(f".{name}"):
            matching.append(definition)
    return matching


def _body(file: FileText, definition: Definition) -> Rows:
    path = show_line(file.path)
    place = f"{path}, lines {definition.first}-{definition.last}"
    head = f"{show_line(definition.name)} in {place}:{file.remark}"
    return [head, *number_lines(file.lines, [(definition.first, definition.last)])]


def _uses(
    file: FileText, word: re.Pattern[str], definitions: Iterable[Definition]
) -> Rows:
    starts = {definition.line for definition in definitions}
    path = show_line(file.path)
    uses = []
    for number, line in enumerate(file.lines, 1):
        if number not in starts and word.search(line):
            uses.append(f"{path}:{number}: {shorten(line.strip())}")
    return uses


def _tests(files: RecordedFiles, look: Look) -> Rows:
    word = _word(_dotted(look.target))
    found: Rows = []
    elsewhere: Rows = []
    scan = _Scan(files, filter(_is_test_file, files.paths))
    for file in scan:
        if not word.search(file.source):
            continue
        tests = _tests_with(file, word)
        found += tests
        if not tests:
            elsewhere += _uses(file, word, ())
    head = f"{count(len(found), 'test')} with {show_line(look.target)} in {scan}"
    rows = [f"{head} of tests", *found[:_MOST_TESTS]]
    if len(found) > _MOST_TESTS:
        rows.append(f"cut, {count(len(found) - _MOST_TESTS, 'more test')}")
    if elsewhere:
        rows.append(f"{count(len(elsewhere), 'line')} in files without such a test:")
        rows += elsewhere[:_MOST_USES]
    return rows


def _tests_with(file: FileText, word: re.Pattern[str]) -> Rows:
    """Return the test functions of a Python file that mention a word."""
    if not is_python(file.path):
        return []
    path = show_line(file.path)
    rows = []
    for definition in find_definitions(file.path, file.source):
        name = definition.name.rpartition(".")[2]
        body = file.lines[definition.first - 1 : definition.last]
        if name.startswith("test") and any(map(word.search, body)):
            place = f"{definition.first}-{definition.last}"
            rows.append(f"{path}:{place}: {show_line(definition.name)}")
    return rows


def _is_test_file(path: str) -> bool:
    if is_named_as_test(path):
        return True
    folders = path.casefold().split("/")[:-1]
    return not _TEST_FOLDERS.isdisjoint(folders)


def _history(files: RecordedFiles, look: Look) -> Rows:
    """Return the last commits up to that of the snapshot."""
    path = look.target.strip("/")
    if not files.below(path) or path == ".":
        path = files.find(path)
    head = files.snapshot.head
    if not head:
        return ["no git history"]
    try:
        repository = find_repository(files.root)
        git = repository.git().with_variables(GIT_LITERAL_PATHSPECS="1")
        arguments = (
            "log",
            f"--max-count={_MOST_COMMITS + 1}",
            "--no-show-signature",
            "--date=short",
            "--format=%H %ad %s",
            "--end-of-options",
            checked_commit(head),
            "--",
            f"{repository.prefix}{path}",
        )
        printed = git.run(*arguments, limit=_LOG_LIMIT)
    except NO_GIT:
        return ["its history cannot be read"]
    text = clean_text(printed.decode("utf-8", "replace")).decode()
    rows = []
    for row in text.split("\n")[:-1]:
        commit, _, rest = row.partition(" ")
        rows.append(f"{commit[:_ID_LENGTH]} {show_line(rest)}")
    if not rows:
        return ["0 commits: git does not track it yet"]
    if len(rows) > _MOST_COMMITS:
        return [f"the last {_MOST_COMMITS} commits:", *rows[:_MOST_COMMITS]]
    return [f"{count(len(rows), 'commit')}, newest first:", *rows]


_ANSWERS: dict[str, Callable[[RecordedFiles, Look], Rows]] = {
    "outline": _outline,
    "read": _read,
    "search": _search,
    "symbol": _symbol,
    "tests": _tests,
    "history": _history,
}
