"""Answer one look: go to the file that it names, or through all files."""

from __future__ import annotations

from collections.abc import Iterable

from agentos.repository.look.asking import Look
from agentos.repository.look.definitions import Definition, find_definitions
from agentos.repository.look.history import find_history
from agentos.repository.look.passages import Passages
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.searching import search
from agentos.repository.look.showing import merge, name_ranges, shorten
from agentos.repository.look.symbols import find_symbol
from agentos.repository.look.testing import find_tests
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

Rows = list[str]


def answer_look(
    files: RecordedFiles,
    look: Look,
    passages: Passages,
    room: int,
) -> Rows:
    """Return the rows of an answer, of which the first says what it is; raise
    `FileRefused` with the reason if nothing can be shown.
    """
    match look.verb:
        case "outline":
            return _outline(files, look.target)
        case "read":
            return _read(files, look, passages, room)
        case "search":
            return search(files, look, passages, room)
        case "symbol":
            return find_symbol(files, look.target, passages, room)
        case "tests":
            return find_tests(files, look.target)
        case _:
            return find_history(files, look.target)


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


def _read(
    files: RecordedFiles,
    look: Look,
    passages: Passages,
    room: int,
) -> Rows:
    path = files.find(look.target)
    text = files.read(path)
    total = len(text.lines)
    if not total:
        return [f"an empty file{text.remark}"]
    inside = []
    wanted = look.ranges or [(1, total)]
    for first, last in merge(wanted):
        if first <= total:
            inside.append((first, min(last, total)))
    if not inside:
        lines = count(total, "line")
        return [f"no such lines: it has {lines}{text.remark}"]
    names = name_ranges(inside)
    head = f"lines {names} of {total}:{text.remark}"
    rows = passages.show(text, inside, room - len(head))
    return [head, *rows]
