"""Read and write Markdown tables, escaped pipes included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentos.documents.markdown import Kind, Line

MOST_COLUMNS = 100
_MOST_CELLS = 2_000_000


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
        """Return the column with the first of these names: so titled, else beginning so, else containing it."""
        titles = [title.strip("*_` ").casefold() for title in self.header]
        for name in names:
            for fits in (str.__eq__, str.startswith, str.__contains__):
                for index, title in enumerate(titles):
                    if fits(title, name):
                        return index
        return None

    def cell(self, row: Sequence[str], *names: str) -> str:
        """Return the cell of a row under the first such column, or an empty string."""
        index = self.column(*names)
        return row[index] if index is not None else ""


def split_row(line: str, width: int = 0) -> tuple[str, ...]:
    """Split a table row into its cells.

    A pipe ends a cell unless a backslash escapes it. Where that gives more cells than the table is wide, pipes in
    code spans are taken for text, if the row then fits.
    """
    cells = _split(line.strip(), is_code_text=False)
    if 0 < width < len(cells) and "`" in line:
        fewer = _split(line.strip(), is_code_text=True)
        if len(fewer) == width:
            return fewer
    return cells


def _split(stripped: str, *, is_code_text: bool) -> tuple[str, ...]:
    parts = stripped.split("|")
    has_text = is_code_text or "\\" in stripped
    cells = _join(parts, is_code_text) if has_text else [part.strip() for part in parts]
    if stripped.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and stripped.endswith("|") and not cells[-1]:
        cells = cells[:-1]
    return tuple(cells)


def _join(parts: Sequence[str], is_code_text: bool) -> list[str]:
    """Return the cells, joining what a pipe parts that is text."""
    cells: list[str] = []
    current: list[str] = []
    ticks = 0
    for index, part in enumerate(parts):
        backslashes = len(part) - len(part.rstrip("\\"))
        is_last = index == len(parts) - 1
        ticks += part.count("`")
        if not is_last and (backslashes % 2 or (is_code_text and ticks % 2)):
            current.append((part[:-1] if backslashes % 2 else part) + "|")
            continue
        current.append(part)
        cells.append("".join(current).strip())
        current = []
    return cells


def is_delimiter(line: str) -> bool:
    """Tell whether a line is the rule under the header of a table."""
    stripped = line.strip()
    if "-" not in stripped or stripped.strip("|-: \t"):
        return False
    return all(_is_rule(cell) for cell in _split(stripped, is_code_text=False))


def _is_rule(cell: str) -> bool:
    inner = cell.removeprefix(":").removesuffix(":")
    return bool(inner) and not inner.strip("-")


def tables(lines: Iterable[Line]) -> tuple[Table, ...]:
    """Return every table among the lines."""
    rows = list(lines)
    found: list[Table] = []
    text = Kind.TEXT
    end = 0
    for index in [n for n, line in enumerate(rows[:-1]) if line.kind is text and "|" in line.text]:
        under = rows[index + 1]
        if index < end or under.kind is not text or not is_delimiter(under.text):
            continue
        end = index + 2
        while end < len(rows) and _is_row(rows[end]):
            end += 1
        found.append(_build(rows[index], under, rows[index + 2 : end]))
    return tuple(found)


def _is_row(line: Line) -> bool:
    return line.kind is Kind.TEXT and "|" in line.text


def _build(head: Line, under: Line, body: Sequence[Line]) -> Table:
    header = split_row(head.text)
    rule = split_row(under.text)
    rows = [split_row(line.text, len(header)) for line in body]
    return make_table(header, rule, rows, [line.number for line in body], head.number)


def make_table(
    header: tuple[str, ...],
    rule: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    row_lines: Sequence[int],
    line: int,
) -> Table:
    """Return a table whose rows are as wide as its header, with the lines of those that were not."""
    wide = len(header)
    ragged = [line + 1] if len(rule) != wide else []
    ragged += [number for row, number in zip(rows, row_lines, strict=True) if len(row) != wide]
    # Padding must not turn a small hostile text into a huge grid.
    width = max(1, min(wide, MOST_COLUMNS, _MOST_CELLS // max(1, len(rows))))
    padded = tuple(row if len(row) == width else (row + ("",) * width)[:width] for row in rows)
    return Table(header[:width], padded, tuple(row_lines), line, tuple(ragged))


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
