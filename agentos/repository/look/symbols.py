"""Answer looks for a name: its definitions, and where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentos.repository.look.asking import Range, show_line
from agentos.repository.look.definitions import Definition, find_definitions
from agentos.repository.look.naming import (
    SPECIAL,
    Name,
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
    """A definition with the name."""

    file: FileText
    definition: Definition

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def is_entry(self) -> bool:
        return self.definition.is_entry

    @property
    def owner(self) -> str:
        """The class or function that it is in; empty at the top level."""
        around, _, _ = self.definition.name.rpartition(".")
        return around.rpartition(".")[2]


class _Block:
    """A definition to show, or all that a stub has with the name."""

    def __init__(self, file: FileText) -> None:
        self.file = file
        self._names: dict[str, None] = {}
        self._ranges: list[Range] = []

    def add(self, definition: Definition) -> None:
        """Show a definition, too."""
        name = show_line(definition.name)
        self._names[name] = None
        place = (definition.first, definition.last)
        self._ranges.append(place)

    @property
    def ranges(self) -> list[Range]:
        """Its lines."""
        return merge(self._ranges)

    @property
    def head(self) -> str:
        """Say where it is."""
        name = ", ".join(self._names)
        path = show_line(self.file.path)
        kind = ""
        if is_stub(self.file.path):
            kind = " (a stub)"
        lines = name_ranges(self.ranges)
        return f"{name} in {path}{kind}, lines {lines}:{self.file.remark}"

    @property
    def size(self) -> int:
        """The room that it takes, about."""
        size = len(self.head)
        for first, last in self.ranges:
            lines = self.file.lines[first - 1 : last]
            size += sum(map(len, lines))
            size += _WIDTH * len(lines)
            size += _FOR_RANGE
        return size + 2 * _FOR_RANGE


def find_symbol(
    files: RecordedFiles,
    target: str,
    passages: Passages,
    room: int,
) -> Rows:
    """Return the lines of each definition of a name, then where it is used."""
    name = read_name(target)
    scan = Scan(files, files.paths)
    found = _find(scan, name)
    blocks = _arrange(found)
    in_stubs = sum(is_stub(each.path) for each in found)
    total = count(len(found) - in_stubs, "definition")
    head = f"{total} of {show_line(target)} in {scan}"
    if in_stubs:
        head += f", and {in_stubs} in stubs"
    if len(blocks) > _MOST_DEFINITIONS:
        head += f"; the first {_MOST_DEFINITIONS} are shown"
    uses = _show_uses(files, found, name)
    reserved = min(size_of(uses), int(room * _USES_SHARE))
    shown = blocks[:_MOST_DEFINITIONS]
    sizes = [block.size for block in shown]
    shares = share_room(sizes, room - reserved - len(head))
    rows = [head]
    for block, share in zip(shown, shares, strict=True):
        rows.append(block.head)
        left = share - len(block.head)
        rows += passages.show(block.file, block.ranges, left)
    return rows + uses


def _find(scan: Scan, name: Name) -> list[_Found]:
    """Return the definitions; an entry of a table counts only where nothing else has
    the name.
    """
    found = []
    for file in scan:
        if not name.word.search(file.source):
            continue
        definitions = find_definitions(file.path, file.source)
        for definition in definitions_of(file.path, definitions, name.whole):
            each = _Found(file, definition)
            found.append(each)
    others = [each for each in found if not each.is_entry]
    return others or found


def _arrange(found: Iterable[_Found]) -> list[_Block]:
    """Return sources before tests, and those before stubs."""
    sources = []
    tests = []
    stubs: dict[str, _Block] = {}
    for each in found:
        block = _Block(each.file)
        if is_stub(each.path):
            block = stubs.setdefault(each.path, block)
        elif is_test_file(each.path):
            tests.append(block)
        else:
            sources.append(block)
        block.add(each.definition)
    return [*sources, *tests, *stubs.values()]


def _show_uses(
    files: RecordedFiles,
    found: Sequence[_Found],
    name: Name,
) -> Rows:
    owners = {each.owner for each in found}
    if "" in owners:
        owners = set()
    if not found and name.owner:
        owners = {name.owner}
    paths = {each.path for each in found}
    places = {(each.path, each.definition.line) for each in found}
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
