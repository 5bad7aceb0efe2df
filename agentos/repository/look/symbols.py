"""Answer looks for a name: its definitions, and where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import filterfalse, repeat

from agentos.repository.look.asking import Range, show_line
from agentos.repository.look.definitions import Definition, find_definitions
from agentos.repository.look.naming import (
    SPECIAL,
    definitions_of,
    first_rows,
    is_special,
    is_stub,
    is_test_file,
    read_name,
)
from agentos.repository.look.passages import Passages
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.scanning import Scan
from agentos.repository.look.showing import (
    merge,
    name_ranges,
    share_room,
    size_of,
)
from agentos.repository.look.texts import FileText
from agentos.repository.look.uses import Uses
from agentos.state.wording import count

_MOST_DEFINITIONS = 8
_MOST_USES = 40
_USES_SHARE = 0.35
_WIDTH = 8
"""What a number before a line takes, about."""
_FOR_RANGE = 40

Rows = list[str]


@dataclass(frozen=True, slots=True)
class _Found:
    """A definition; in a stub, all overloads of it."""

    file: FileText
    definitions: Sequence[Definition]

    @property
    def ranges(self) -> list[Range]:
        """Its lines."""
        return merge((each.first, each.last) for each in self.definitions)

    @property
    def head(self) -> str:
        """Say where it is."""
        names = dict.fromkeys(each.name for each in self.definitions)
        name = ", ".join(map(show_line, names))
        path = show_line(self.file.path)
        kind = " (a stub)" if is_stub(self.file.path) else ""
        lines = name_ranges(self.ranges)
        return f"{name} in {path}{kind}, lines {lines}:{self.file.remark}"

    @property
    def size(self) -> int:
        """The room that it takes, about."""
        size = 0
        for first, last in self.ranges:
            lines = self.file.lines[first - 1 : last]
            size += sum(map(len, lines)) + _WIDTH * len(lines)
        return len(self.head) + size + _FOR_RANGE * (len(self.ranges) + 2)


def find_symbol(
    files: RecordedFiles,
    target: str,
    passages: Passages,
    room: int,
) -> Rows:
    """Return the lines of each definition of a name, then where it is used."""
    name = read_name(target)
    scan = Scan(files, files.paths)
    found: list[tuple[FileText, Definition]] = []
    for file in scan:
        if not name.word.search(file.source):
            continue
        definitions = find_definitions(file.path, file.source)
        matching = definitions_of(file.path, definitions, name.whole)
        found += zip(repeat(file), matching, strict=False)
    # An entry of a table counts only where nothing else has the name.
    others = list(filterfalse(_is_entry, found))
    found = others or found
    sources = [pair for pair in found if not is_stub(pair[0].path)]
    total = count(len(sources), "definition")
    head = f"{total} of {show_line(target)} in {scan}"
    if len(sources) < len(found):
        head += f", and {len(found) - len(sources)} in stubs"
    groups = _group(found)
    if len(groups) > _MOST_DEFINITIONS:
        head += f"; the first {_MOST_DEFINITIONS} are shown"
    last = _show_uses(files, found, target)
    reserved = min(size_of(last), int(room * _USES_SHARE))
    rows = [head]
    shown = groups[:_MOST_DEFINITIONS]
    sizes = [group.size for group in shown]
    shares = share_room(sizes, room - reserved - len(head))
    for group, share in zip(shown, shares, strict=True):
        rows.append(group.head)
        left = share - len(group.head)
        rows += passages.show(group.file, group.ranges, left)
    return rows + last


def _show_uses(
    files: RecordedFiles, found: Sequence[tuple[FileText, Definition]], target: str
) -> Rows:
    name = read_name(target)
    owners = set()
    inner = 0
    paths = set()
    places = set()
    for file, definition in found:
        before, dot, _ = definition.name.rpartition(".")
        if dot:
            inner += 1
            owners.add(before.rpartition(".")[2])
        paths.add(file.path)
        places.add((file.path, definition.line))
    if inner < len(found):
        owners = set()
    elif not found and name.owner:
        owners = {name.owner}
    uses = Uses(name, owners, paths)
    for file in Scan(files, files.paths):
        if name.word.search(file.source):
            uses.look_in(file, places)
    is_of_tests = bool(paths) and all(map(is_test_file, paths))
    rows: Rows = []
    if uses.rows or uses.tested or not is_of_tests:
        used = count(len(uses.rows), "line")
        tested = count(uses.tested, "line")
        rows = [f"used in {used}, and in {tested} of tests:"]
    rows += first_rows(uses.rows, _MOST_USES)
    rows += uses.counted
    if is_special(name):
        rows.append(SPECIAL)
    return rows


def _is_entry(found: tuple[FileText, Definition]) -> bool:
    _, definition = found
    return definition.is_entry


def _group(found: Iterable[tuple[FileText, Definition]]) -> list[_Found]:
    """Return sources before tests and stubs, and all that a stub has as one."""
    groups = []
    in_stubs: dict[str, list[Definition]] = {}
    texts = {}
    for file, definition in found:
        if is_stub(file.path):
            texts[file.path] = file
            in_stubs.setdefault(file.path, []).append(definition)
        else:
            groups.append(_Found(file, (definition,)))
    groups.sort(key=lambda group: is_test_file(group.file.path))
    for path, definitions in in_stubs.items():
        groups.append(_Found(texts[path], definitions))
    return groups
