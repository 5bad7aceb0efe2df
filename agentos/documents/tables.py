"""Read and write Markdown tables, including escaped pipes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agentos.documents.markdown import Form, Line, Lines, list_marker

_MAX_COLUMNS = 100
_MAX_CELLS = 2_000_000
_PIPE = re.compile(r"(?<!\\)\|")
_ANY_PIPE = re.compile(r"(?<!\\)\\*\|")
_RULE = re.compile(r"[|:\s]*-[|:\s-]*")
_CODE = re.compile(r"`[^`]*`")

_FITS = (str.__eq__, str.startswith, str.__contains__)
"""How a title may fit a name, the best way first."""

Cells = tuple[str, ...]
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its rows are padded or cut to the width of the header."""

    header: Cells
    rows: tuple[Cells, ...]
    row_lines: Numbers
    line: int
    ragged: Numbers
    """Line numbers of the rows with more or fewer cells than the header."""

    def column(self, *names: str) -> int | None:
        """Return the index of the column with the first of these names, or None.

        An exact title is preferred to one that begins with the name, and that to one
        that contains it.
        """
        titles = []
        for cell in self.header:
            title = cell.strip("*_` ")
            title = title.casefold()
            titles.append(title)
        for name in names:
            for fits in _FITS:
                for index, title in enumerate(titles):
                    if fits(title, name):
                        return index
        return None

    def numbered_rows(self) -> Iterator[tuple[int, Cells]]:
        """Yield each row after its line number."""
        return zip(self.row_lines, self.rows, strict=True)

    def cell(self, row: Sequence[str], *names: str) -> str:
        """Return the cell of a row under the first such column, or an empty string."""
        index = self.column(*names)
        if index is None:
            return ""
        return row[index]


def split_row(line: str, width: int = 0) -> Cells:
    """Split a table row into its cells.

    A pipe ends a cell unless a backslash escapes it. If that gives more than `width`
    cells, pipes in code spans count as text, provided that the row then fits.
    """
    cells = _split(line)
    if not width:
        return cells
    if len(cells) <= width:
        return cells
    escaped = _CODE.sub(_escape_pipes, line)
    fewer = _split(escaped)
    if len(fewer) == width:
        return fewer
    return cells


def _split(line: str) -> Cells:
    row = line.strip()
    parts = _PIPE.split(row)
    # The pipes around a row are optional; the empty parts outside them are no cells.
    if row.startswith("|"):
        del parts[0]
    last = parts[-1]
    if not last and len(parts) > 1:
        parts.pop()
    cells = []
    for part in parts:
        cell = part.strip()
        cell = cell.replace("\\|", "|")
        cells.append(cell)
    return tuple(cells)


def _escape_pipes(found: re.Match[str]) -> str:
    code = found[0]
    return _PIPE.sub(r"\\|", code)


def tables(lines: Lines) -> tuple[Table, ...]:
    """Return every table among the lines."""
    groups: dict[int, list[Line]] = {}
    for line in lines:
        if not line.is_row:
            continue
        group = groups.setdefault(line.block, [])
        group.append(line)
    found = []
    for group in groups.values():
        if len(group) > 1:
            table = _build(group)
            found.append(table)
    return tuple(found)


def _build(lines: list[Line]) -> Table:
    head, _, *body = lines
    title = _header_text(head)
    header = split_row(title)
    columns = len(header)
    # Padding must not turn a small hostile text into a huge grid.
    most = _MAX_CELLS // len(lines)
    width = min(columns, _MAX_COLUMNS, most)
    padding = ("",) * width
    rows = []
    numbers = []
    ragged = []
    for line in body:
        number = line.number
        numbers.append(number)
        row = split_row(line.text, columns)
        if len(row) != columns:
            ragged.append(number)
        padded = row + padding
        cells = padded[:width]
        rows.append(cells)
    return Table(
        header=header[:width],
        rows=tuple(rows),
        row_lines=tuple(numbers),
        line=head.number,
        ragged=tuple(ragged),
    )


def _header_text(head: Line) -> str:
    """Return the header row without the list marker before it, if there is one."""
    text = head.text.strip()
    if not head.item:
        return text
    marked = list_marker(text)
    if marked is None:
        return text
    return marked[0]


def broken_tables(lines: Lines) -> Iterator[int]:
    """Yield the lines that look like a table's rule but do not fit the row above."""
    for above, line in pairwise(lines):
        if line.form is not Form.PARAGRAPH:
            continue
        if line.block != above.block:
            continue
        if "|" not in above.text:
            continue
        text = line.text
        if "|" not in text:
            continue
        if _RULE.fullmatch(text):
            yield line.number


def escape_cell(text: str) -> str:
    """Return text as one line, with one backslash before every pipe."""
    rows = text.splitlines()
    stripped = map(str.strip, rows)
    flat = " ".join(stripped)
    return _ANY_PIPE.sub(r"\\|", flat)


def render_row(cells: Iterable[str]) -> str:
    """Return one row of a Markdown table."""
    escaped = map(escape_cell, cells)
    inner = " | ".join(escaped)
    return f"| {inner} |"


def render_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    rule = "|---" * len(header)
    titles = render_row(header)
    written = [titles, f"{rule}|"]
    for row in rows:
        rendered = render_row(row)
        written.append(rendered)
    return "\n".join(written)
