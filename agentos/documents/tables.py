"""Read and write Markdown tables, escaped pipes included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentos.documents.markdown import Kind, Line


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its header; rows are padded or cut to the width of the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    row_lines: tuple[int, ...]
    line: int
    ragged: tuple[int, ...] = ()
    """Line numbers of rows that do not have as many cells as the header."""

    def column(self, *names: str) -> int | None:
        """Return the index of the first column whose title contains one of the names."""
        for name in names:
            for index, title in enumerate(self.header):
                if name in title.casefold():
                    return index
        return None

    def cell(self, row: Sequence[str], *names: str) -> str:
        """Return the cell of a row under the first such column, or an empty string."""
        index = self.column(*names)
        return row[index] if index is not None else ""


def split_row(line: str) -> tuple[str, ...]:
    """Split a table row into its cells."""
    stripped = line.strip()
    cells: list[str] = []
    current: list[str] = []
    parts = stripped.split("|")
    for index, part in enumerate(parts):
        backslashes = len(part) - len(part.rstrip("\\"))
        is_last = index == len(parts) - 1
        if backslashes % 2 and not is_last:
            current.append(part[:-1] + "|")
            continue
        current.append(part)
        cells.append("".join(current).strip())
        current = []
    if stripped.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and stripped.endswith("|") and not cells[-1]:
        cells = cells[:-1]
    return tuple(cells)


def _is_delimiter(line: str) -> bool:
    stripped = line.strip()
    if "-" not in stripped or stripped.strip("|-: \t"):
        return False
    cells = split_row(stripped)
    return bool(cells) and all("-" in cell and not cell.strip("-").strip(":") for cell in cells)


def tables(lines: Iterable[Line]) -> tuple[Table, ...]:
    """Return every table among the lines."""
    rows = list(lines)
    found: list[Table] = []
    index = 0
    while index + 1 < len(rows):
        head, under = rows[index], rows[index + 1]
        if not (_is_row(head) and under.kind is Kind.TEXT and _is_delimiter(under.text)):
            index += 1
            continue
        end = index + 2
        while end < len(rows) and _is_row(rows[end]):
            end += 1
        found.append(_build(head, under, rows[index + 2 : end]))
        index = end
    return tuple(found)


def _is_row(line: Line) -> bool:
    return line.kind is Kind.TEXT and "|" in line.text


def _build(head: Line, under: Line, body: Sequence[Line]) -> Table:
    header = split_row(head.text)
    width = len(header)
    ragged = [] if len(split_row(under.text)) == width else [under.number]
    cells = []
    for line in body:
        row = split_row(line.text)
        if len(row) != width:
            ragged.append(line.number)
        cells.append((row + ("",) * width)[:width])
    numbers = tuple(line.number for line in body)
    return Table(header, tuple(cells), numbers, head.number, tuple(ragged))


def escape_cell(text: str) -> str:
    """Make text safe for a table cell: one line, every pipe escaped by exactly one backslash."""
    flat = " ".join(part.strip() for part in text.splitlines())
    *before, last = flat.split("|")
    return "\\|".join([*(part.rstrip("\\") for part in before), last])


def render_row(cells: Iterable[str]) -> str:
    """Write one row."""
    return "| " + " | ".join(escape_cell(cell) for cell in cells) + " |"


def render_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table."""
    rule = "|" + "|".join("---" for _ in header) + "|"
    return "\n".join([render_row(header), rule, *(render_row(row) for row in rows)])
