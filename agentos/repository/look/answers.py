"""Answer one look: go to the file that it names, or through all files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentos.repository.git.names import checked_commit
from agentos.repository.look.asking import Look, Range, show_line
from agentos.repository.look.definitions import Definition, find_definitions
from agentos.repository.look.naming import find_symbol, find_tests
from agentos.repository.look.opening import FileRefused
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.scanning import Scan
from agentos.repository.look.showing import merge, number_lines, shorten
from agentos.repository.look.snapshot import NO_GIT
from agentos.repository.look.texts import FileText
from agentos.state.terminal_text import clean_text
from agentos.state.wording import count

_AROUND = 3
_MOST_HITS = 500
_MOST_PATHS = 20
_MOST_COMMITS = 20
_LOG_LIMIT = 200_000
_ID_LENGTH = 10
_ENDING = re.compile(r"\.[a-z0-9]{1,5}\Z")

Rows = list[str]


def answer_look(files: RecordedFiles, look: Look) -> Rows:
    """Return the rows of an answer, of which the first says what it is; raise
    `FileRefused` with the reason if nothing can be shown.
    """
    match look.verb:
        case "outline":
            return _outline(files, look.target)
        case "read":
            return _read(files, look)
        case "search":
            return _search(files, look)
        case "symbol":
            return find_symbol(files, look.target)
        case "tests":
            return find_tests(files, look.target)
        case _:
            return _history(files, look.target)


def _outline(files: RecordedFiles, target: str) -> Rows:
    path = files.find(target)
    text = files.read(path)
    definitions = find_definitions(path, text.source)
    rows = outline(text, definitions)
    total = count(len(text.lines), "line")
    head = f"definitions and headings: {len(rows)}, in {total}{text.remark}"
    return [head, *rows]


def outline(text: FileText, definitions: Iterable[Definition]) -> Rows:
    """Return a row with the lines of each definition, without entries of tables."""
    rows: Rows = []
    for definition in definitions:
        if definition.is_entry:
            continue
        if definition.line > len(text.lines):
            continue
        index = definition.line - 1
        line = text.lines[index].strip()
        shown = shorten(line)
        indent = "  " * definition.depth
        place = f"{definition.first}-{definition.last}"
        row = f"{place:>11}  {indent}{shown}"
        # Names that one statement assigns are one row.
        if row not in rows[-1:]:
            rows.append(row)
    return rows


def _read(files: RecordedFiles, look: Look) -> Rows:
    path = files.find(look.target)
    text = files.read(path)
    total = len(text.lines)
    if not total:
        return [f"an empty file{text.remark}"]
    names = []
    inside = []
    wanted = look.ranges or [(1, total)]
    for first, last in merge(wanted):
        if first > total:
            continue
        end = min(last, total)
        names.append(f"{first}-{end}")
        inside.append((first, end))
    if not inside:
        lines = count(total, "line")
        return [f"no such lines: it has {lines}{text.remark}"]
    shown = ", ".join(names)
    head = f"lines {shown} of {total}:{text.remark}"
    rows = number_lines(text.lines, inside)
    return [head, *rows]


def _search(files: RecordedFiles, look: Look) -> Rows:
    text = look.target
    if look.is_quoted:
        return _search_in(files, text, look.place)
    # Without quotes, the last word is where to search if it is a path.
    words, _, last = text.rpartition(" ")
    words = words.strip()
    if not words:
        return _search_in(files, text, "")
    if last != "." and files.below(last):
        return _search_in(files, words, last)
    rows = _search_in(files, text, "")
    is_like_path = "/" in last or _ENDING.search(last)
    if is_like_path:
        try:
            files.find(last)
        except FileRefused as error:
            path = show_line(last)
            rows[0] += f"; {path} was searched for as text, because: {error}"
    return rows


def _search_in(files: RecordedFiles, text: str, place: str) -> Rows:
    paths = list(files.paths)
    if place:
        paths = files.below(place)
        if not paths:
            # It says why nothing is there.
            files.find(place)
    wanted = text.casefold()
    rows: Rows = []
    hits = 0
    scan = Scan(files, paths)
    for file in scan:
        numbers = _hits(file, wanted)
        room = max(0, _MOST_HITS - hits)
        shown = numbers[:room]
        if shown:
            path = show_line(file.path)
            rows.append(f"in {path}:{file.remark}")
            ranges = around(shown)
            rows += number_lines(file.lines, ranges)
        hits += len(numbers)
    total = count(hits, "hit")
    head = f"{total} in {scan}"
    if hits > _MOST_HITS:
        head += f"; the first {_MOST_HITS} are shown"
    named = [path for path in paths if wanted in path.casefold()]
    if named and not place:
        few = named[:_MOST_PATHS]
        first = map(show_line, few)
        listed = ", ".join(first)
        total = count(len(named), "path")
        rows.append(f"{total} with it: {listed}")
    return [head, *rows]


def _hits(file: FileText, wanted: str) -> list[int]:
    """Return the numbers of the lines with a text, not counting withheld ones."""
    whole = file.source.casefold()
    if wanted not in whole:
        return []
    numbers = []
    for number, line in enumerate(file.lines, 1):
        if wanted in line.casefold():
            numbers.append(number)
    return numbers


def around(numbers: Iterable[int]) -> list[Range]:
    """Return the lines with these numbers and some lines around them."""
    ranges = []
    for number in numbers:
        first = max(1, number - _AROUND)
        last = number + _AROUND
        ranges.append((first, last))
    return merge(ranges)


def _history(files: RecordedFiles, target: str) -> Rows:
    """Return the last commits up to that of the snapshot."""
    path = files.find_any(target)
    commit = files.snapshot.head
    if not commit:
        return ["no git history"]
    try:
        git, prefix = files.git()
        literal = git.with_variables(GIT_LITERAL_PATHSPECS="1")
        printed = literal.run(
            "log",
            f"--max-count={_MOST_COMMITS + 1}",
            "--no-show-signature",
            "--date=short",
            "--format=%H %ad %s",
            "--end-of-options",
            checked_commit(commit),
            "--",
            f"{prefix}{path}",
            limit=_LOG_LIMIT,
        )
    except NO_GIT:
        return ["its history cannot be read"]
    text = printed.decode("utf-8", "replace")
    clean = clean_text(text).decode()
    rows = []
    for row in clean.split("\n")[:-1]:
        found, _, rest = row.partition(" ")
        short = found[:_ID_LENGTH]
        shown = show_line(rest)
        rows.append(f"{short} {shown}")
    if not rows:
        return ["0 commits: git does not track it yet"]
    total = count(len(rows), "commit")
    head = f"{total}, newest first:"
    if len(rows) > _MOST_COMMITS:
        rows.pop()
        head = f"the last {_MOST_COMMITS} commits:"
    return [head, *rows]
