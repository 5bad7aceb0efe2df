"""Find, append and drop whole tables in TOML text, leaving every other line as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Where a table stands: from the line of its header up to, and without, the line after its last value."""

    name: str
    first: int
    end: int


def append_table(text: str, table: str) -> str:
    """Put a table at the end, after a blank line."""
    if text and not text.endswith("\n"):
        text += "\n"
    return f"{text}\n{table}" if text else table


def drop_table(text: str, name: str, place: int) -> str | None:
    """Return the text without the `place`-th `[[name]]` table; None when there is none that stands on lines of its own.

    Comments above the header and after the last value stay. One blank line goes with the table, so that adding and
    dropping one changes nothing.
    """
    lines = text.split("\n")
    tables = [table for table in find_tables(lines) if table.name == name]
    if place >= len(tables):
        return None
    first, end = tables[place].first, tables[place].end
    is_last = not any(line.strip() for line in lines[end:])
    if is_last and first > 0 and not lines[first - 1].strip():
        first -= 1
    elif end < len(lines) - 1 and not lines[end].strip():
        end += 1
    return "\n".join(lines[:first] + lines[end:])


def find_tables(lines: list[str]) -> Iterator[Table]:
    """Return the tables in order; `name` is empty for any header that is not of the form `[[name]]`."""
    quote, depth = "", 0
    name, first, end = "", -1, 0
    for number, line in enumerate(lines):
        bare = line.strip()
        is_header = not quote and not depth and bare.startswith("[")
        is_value = bool(quote or depth or (bare and not bare.startswith("#")))
        if is_header:
            if first >= 0:
                yield Table(name, first, end)
            name, first = _read_header(bare), number
        if is_value:
            end = number + 1
        quote, depth = _scan(line, quote, depth)
    if first >= 0:
        yield Table(name, first, end)


def _read_header(line: str) -> str:
    import tomllib

    try:
        ((name, value),) = tomllib.loads(line).items()
    except ValueError:
        return ""
    return name if value == [{}] else ""


def _scan(line: str, quote: str, depth: int) -> tuple[str, int]:
    """Follow strings and brackets through a line: return the string and the depth that are open at its end."""
    position = 0
    while position < len(line):
        char = line[position]
        if quote:
            if char == "\\" and quote[0] == '"':
                position += 2
            elif line.startswith(quote, position):
                position += len(quote)
                # A long string may end with one or two quotes of its own before the three that close it.
                while len(quote) == 3 and line.startswith(quote[0], position):
                    position += 1
                quote = ""
            else:
                position += 1
            continue
        if char == "#":
            break
        if char in "\"'":
            quote = char * 3 if line.startswith(char * 3, position) else char
            position += len(quote)
            continue
        depth += (char in "[{") - (char in "]}")
        position += 1
    return (quote if len(quote) == 3 else ""), max(depth, 0)
