"""A Markdown document as data: parts under headings, made of prose, lists, tables, code and comments.

`read_outline` and `render_outline` are inverse to each other up to spacing: what is rendered reads back equal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agentos.documents.markdown import Kind, Line, list_marker, split_checkbox
from agentos.documents.tables import Table, is_delimiter, make_table, split_row

# Names of their own: a member of an enumeration takes longer to look up than a line takes to read.
_TEXT, _BLANK, _HEADING, _FENCE, _CODE = Kind.TEXT, Kind.BLANK, Kind.HEADING, Kind.FENCE, Kind.CODE


@dataclass(frozen=True, slots=True)
class Prose:
    """Running text, line by line as it was written."""

    lines: tuple[str, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Code:
    """A fenced block; `closing` is None when the document ends before it does."""

    opening: str
    lines: tuple[str, ...]
    closing: str | None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that no reader sees, marks included."""

    lines: tuple[str, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a list; `more` are the lines below it that belong to it."""

    marker: str
    text: str
    is_checked: bool | None = None
    more: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def is_ordered(self) -> bool:
        """Tell whether the entry has a number."""
        return self.marker.lstrip()[:1].isdigit()

    @property
    def whole(self) -> str:
        """Return the text with its wrapped lines, up to the first nested entry."""
        parts = [self.text]
        for row in self.more:
            if list_marker(row.strip()) is not None:
                break
            parts.append(row.strip())
        return " ".join(parts).strip()


@dataclass(frozen=True, slots=True)
class Listing:
    """A list without blank lines."""

    entries: tuple[Entry, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it was written: rows may be shorter or longer than the header."""

    header: tuple[str, ...]
    rule: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    row_lines: tuple[int, ...] = field(default=(), compare=False)
    line: int = field(default=0, compare=False)

    @property
    def table(self) -> Table:
        """Return the table with rows as wide as its header."""
        lines = self.row_lines if len(self.row_lines) == len(self.rows) else (0,) * len(self.rows)
        return make_table(self.header, self.rule, self.rows, lines, self.line)


Block = Prose | Code | Comment | Listing | Grid


@dataclass(frozen=True, slots=True)
class Part:
    """A heading and what stands under it, up to the next heading; the opening of a document has level 0."""

    level: int
    title: str
    blocks: tuple[Block, ...] = ()
    line: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    """The number of its last line."""


def read_outline(lines: Sequence[Line]) -> tuple[Part, ...]:
    """Return the parts of a document in order; the first is its opening, which may be empty."""
    starts = [n for n, line in enumerate(lines) if line.kind is _HEADING]
    first = lines[0].number if lines else 1
    opening = lines[: starts[0]] if starts else lines
    # A comment may end in the line of a heading; it belongs to the part in which it begins.
    comments = _read_comments(lines)
    parts = [Part(0, "", _read_blocks(opening, comments), first, first + len(opening) - 1)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        head = lines[start]
        blocks = _read_blocks(lines[start:end], comments) if comments or end > start + 1 else ()
        parts.append(Part(head.level, head.text, blocks, head.number, lines[end - 1].number))
    return tuple(parts)


def _read_blocks(lines: Sequence[Line], comments: deque[Comment]) -> tuple[Block, ...]:
    """Return the blocks of lines among which only the first may be a heading; a comment precedes what holds it.

    What begins in these lines is taken from the comments.
    """
    blocks: list[Block] = []
    index = 0
    while index < len(lines):
        if not comments and lines[index].kind is _BLANK:
            index += 1
            continue
        block, index = _read_block(lines, index)
        while comments and comments[0].line <= lines[index - 1].number:
            blocks.append(comments.popleft())
        if block is not None:
            blocks.append(block)
    return tuple(blocks)


def _read_block(lines: Sequence[Line], index: int) -> tuple[Block | None, int]:
    first = lines[index]
    if first.kind is _FENCE:
        return _read_code(lines, index)
    if first.kind is not _TEXT:
        return None, index + 1
    if "|" in first.text and _starts_table(lines, index):
        return _read_grid(lines, index)
    if list_marker(first.text.strip()) is not None:
        return _read_listing(lines, index)
    rows = [_row(first)]
    for place in range(index + 1, len(lines)):
        line = lines[place]
        row = line.text
        if line.kind is not _TEXT or list_marker(row.strip()) is not None:
            break
        if "|" in row and _starts_table(lines, place):
            break
        rows.append(row.rstrip("\r"))
    return Prose(tuple(rows), first.number), index + len(rows)


def _row(line: Line) -> str:
    return line.text.rstrip("\r")


def _starts_table(lines: Sequence[Line], index: int) -> bool:
    if index + 1 >= len(lines) or "|" not in lines[index].text:
        return False
    under = lines[index + 1]
    return under.kind is _TEXT and is_delimiter(under.text)


def _read_code(lines: Sequence[Line], index: int) -> tuple[Code, int]:
    inner: list[str] = []
    for place in range(index + 1, len(lines)):
        line = lines[place]
        if line.kind is not _CODE:
            break
        inner.append(line.text.rstrip("\r"))
    end = index + 1 + len(inner)
    is_closed = end < len(lines)
    closing = _row(lines[end]) if is_closed else None
    if not is_closed:
        inner = _without_end(inner)
    return Code(_row(lines[index]), tuple(inner), closing, lines[index].number), end + is_closed


def _read_grid(lines: Sequence[Line], index: int) -> tuple[Grid, int]:
    end = index + 2
    while end < len(lines) and lines[end].kind is _TEXT and "|" in lines[end].text:
        end += 1
    header = split_row(lines[index].text)
    rule = tuple([_plain_rule(cell) for cell in split_row(lines[index + 1].text)])
    rows = tuple([split_row(line.text, len(header)) for line in lines[index + 2 : end]])
    numbers = tuple([line.number for line in lines[index + 2 : end]])
    return Grid(header, rule, rows, numbers, lines[index].number), end


def _plain_rule(cell: str) -> str:
    return (":" if cell.startswith(":") else "") + "---" + (":" if cell.endswith(":") else "")


def _read_listing(lines: Sequence[Line], index: int) -> tuple[Listing, int]:
    entries: list[Entry] = []
    more: list[str] = []
    base = 0
    end = index
    while end < len(lines):
        line = lines[end]
        if line.kind is not _TEXT or ("|" in line.text and _starts_table(lines, end)):
            break
        stripped = line.text.strip()
        marked = list_marker(stripped)
        indent = line.indent
        if marked is None or (entries and indent >= base + 2):
            more.append(_row(line))
        else:
            _attach(entries, more)
            entries.append(_entry(line, stripped, marked[0]))
            base = indent
        end += 1
    _attach(entries, more)
    return Listing(tuple(entries), lines[index].number), end


def _attach(entries: list[Entry], more: list[str]) -> None:
    if more:
        last = entries[-1]
        entries[-1] = Entry(last.marker, last.text, last.is_checked, tuple(more), last.line)
        more.clear()


def _entry(line: Line, stripped: str, text: str) -> Entry:
    marker = stripped[: len(stripped) - len(text)].rstrip()
    if line.text[0].isspace():
        marker = line.text[: len(line.text) - len(line.text.lstrip())] + marker
    is_checked, body = split_checkbox(text.strip())
    return Entry(marker, body, is_checked, (), line.number)


def _read_comments(lines: Sequence[Line]) -> deque[Comment]:
    """Return the comments in order."""
    found: deque[Comment] = deque()
    rows: list[str] = []
    start, is_open = 0, False
    marked = [n for n, line in enumerate(lines) if line.hidden]
    for index in range(marked[0], len(lines)) if marked else ():
        line = lines[index]
        if not is_open and not line.hidden:
            continue
        if not rows:
            start = index
        rows.append(line.hidden.rstrip("\r"))
        is_open = _stays_open(line.hidden, is_open)
        if not is_open:
            found.append(Comment(tuple(rows), lines[start].number))
            rows = []
    if rows:
        found.append(Comment(tuple(_without_end(rows)), lines[start].number))
    return found


def _without_end(rows: list[str]) -> list[str]:
    """Cut the blank rows at the end of a block that nothing closes."""
    end = len(rows)
    while end and not rows[end - 1].strip():
        end -= 1
    return rows[:end]


def _stays_open(hidden: str, is_open: bool) -> bool:
    position = 0
    while True:
        mark = "-->" if is_open else "<!--"
        place = hidden.find(mark, position)
        if place < 0:
            return is_open
        position, is_open = place + len(mark), not is_open


def render_outline(parts: Iterable[Part]) -> str:
    """Write the parts of a document."""
    chunks = [chunk for part in parts for chunk in _render_part(part)]
    return "\n\n".join(chunks) + "\n" if chunks else ""


def _render_part(part: Part) -> Iterator[str]:
    if part.level:
        yield f"{'#' * part.level} {part.title}".rstrip()
    for block in part.blocks:
        yield render_block(block)


def render_block(block: Block) -> str:
    """Write one block."""
    match block:
        case Prose(lines=lines) | Comment(lines=lines):
            return "\n".join(lines)
        case Code(opening=opening, lines=lines, closing=closing):
            return "\n".join([opening, *lines, *(() if closing is None else (closing,))])
        case Listing(entries=entries):
            return "\n".join(row for entry in entries for row in _render_entry(entry))
        case Grid(header=header, rule=rule, rows=rows):
            return "\n".join([_render_cells(header), _render_cells(rule), *(_render_cells(row) for row in rows)])


def _render_entry(entry: Entry) -> Iterator[str]:
    box = "" if entry.is_checked is None else "[x] " if entry.is_checked else "[ ] "
    yield f"{entry.marker} {box}{entry.text}".rstrip()
    yield from entry.more


def _render_cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
