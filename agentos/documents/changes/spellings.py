"""Read a SEARCH that says its lines in a way that no file has them.

Models copy line numbers, put signs of a diff or a fence around lines, escape characters
for HTML, and make quotes typographic. Each spelling is tried only if the lines are not
found as they stand, and the replacement is read in the same spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import pairwise

from agentos.documents.changes.matching import Level, without_end
from agentos.documents.changes.model import Rows

Normalize = Callable[[str], str]

_NUMBERED = re.compile(r"[ \t]*+L?(\d{1,7}+)( ?[|:│→]| ?\t|  )(.*)", re.DOTALL)
_TYPOGRAPHIC = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201a": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
    "\u2010": "-",
    "\u2011": "-",
    "\u2012": "-",
    "\u2013": "-",
    "\u2014": "-",
    "\u2026": "...",
    "\u00a0": " ",
    "\u202f": " ",
}
_PLAIN = str.maketrans(_TYPOGRAPHIC)
_ESCAPED = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27|#34|nbsp);")


@dataclass(frozen=True, slots=True)
class Spelling:
    """Another reading of a section."""

    search: Rows
    replace: Rows
    remark: str
    """How it was read, for the report."""
    levels: tuple[Level, ...] = (Level.EXACT, Level.BLANKS)
    normalize: Normalize | None = None
    """What the lines of the file are compared as, if not as at the level."""
    absent: frozenset[str] = frozenset()
    """Signs that the replacement loses and so the lines that are found must not have."""


def spellings(search: Rows, replace: Rows) -> Iterator[Spelling]:
    """Yield the other readings of a section, the closest first."""
    for read in (_without_edges, _without_numbers, _without_signs, _without_fence):
        yield from read(search, replace)
    yield from _unescaped(search, replace)
    yield from _with_plain_signs(search, replace)


def _without_edges(search: Rows, replace: Rows) -> Iterator[Spelling]:
    """Leave out blank lines at both ends, in the replacement no more than there."""
    before = _count_empty(search)
    after = _count_empty(search[::-1])
    if not before and not after:
        return
    first = min(before, _count_empty(replace))
    rest = replace[first:]
    last = min(after, _count_empty(rest[::-1]))
    yield Spelling(
        search[before : len(search) - after],
        rest[: len(rest) - last],
        "without the blank lines around",
        tuple(Level),
    )


def _count_empty(rows: Rows) -> int:
    count = 0
    for row in rows:
        if row:
            break
        count += 1
    return count


def _without_numbers(search: Rows, replace: Rows) -> Iterator[Spelling]:
    numbers = _read_numbers(search)
    if not numbers:
        return
    others = _read_numbers(replace)
    has_numbers = any(map(_NUMBERED.fullmatch, replace))
    is_near = bool(others) and numbers[0] <= others[0] <= numbers[-1] + 1
    if has_numbers and not is_near:
        # Some of these numbers may well be text.
        return
    bare = list(map(_after_number, search))
    new = list(map(_after_number, replace)) if has_numbers else list(replace)
    remark = "without line numbers"
    if all(row.startswith(" ") for row in bare if row):
        closer = list(map(_without_blank, new)) if has_numbers else new
        yield Spelling(list(map(_without_blank, bare)), closer, remark)
    yield Spelling(bare, new, remark)


def _read_numbers(rows: Rows) -> list[int]:
    """Return the numbers of lines that follow each other, none if a line has none."""
    numbers = []
    for row in rows:
        bare = row.strip(" \t\r")
        match = _NUMBERED.fullmatch(row)
        if match:
            numbers.append(int(match[1]))
        elif bare and not bare.isdecimal():
            return []
    steps = list(pairwise(numbers))
    if all(one < other <= one + len(rows) for one, other in steps):
        return numbers
    return []


def _after_number(row: str) -> str:
    match = _NUMBERED.fullmatch(row)
    if match is None:
        # The number of an empty line.
        return ""
    return match[3]


def _without_blank(row: str) -> str:
    return row.removeprefix(" ")


def _without_signs(search: Rows, replace: Rows) -> Iterator[Spelling]:
    """Leave out the signs of a diff."""
    if not any(row.startswith("-") for row in search):
        return
    if not _is_signed(search, "-") or not _is_signed(replace, "+"):
        return
    if replace and not any(row.startswith("+") for row in replace):
        return
    yield Spelling(
        [row[1:] for row in search],
        [row[1:] for row in replace],
        "without the signs of a diff",
    )


def _is_signed(rows: Rows, sign: str) -> bool:
    return all(not row.strip() or row[0] in (sign, " ") for row in rows)


def _without_fence(search: Rows, replace: Rows) -> Iterator[Spelling]:
    if not _is_fenced(search):
        return
    inner = replace
    if _is_fenced(replace):
        inner = replace[1:-1]
    yield Spelling(search[1:-1], inner, "without the fence around", tuple(Level))


def _is_fenced(rows: Rows) -> bool:
    if len(rows) < 3:
        return False
    return rows[0].startswith("```") and rows[-1].strip() == "```"


def _unescaped(search: Rows, replace: Rows) -> Iterator[Spelling]:
    if not any(_ESCAPED.search(row) for row in search):
        return
    yield Spelling(
        list(map(_unescape, search)),
        list(map(_unescape, replace)),
        "with its characters unescaped",
    )


def _unescape(row: str) -> str:
    return _ESCAPED.sub(lambda found: unescape(found[0]), row)


def _with_plain_signs(search: Rows, replace: Rows) -> Iterator[Spelling]:
    """Compare without typographic signs; those of the SEARCH become plain ones."""
    signs = frozenset(_TYPOGRAPHIC)
    used = signs.intersection("".join(search))
    table = str.maketrans({sign: _TYPOGRAPHIC[sign] for sign in used})
    plain = [row.translate(table) for row in replace]
    yield Spelling(
        list(map(fold_signs, search)),
        plain,
        "with plain quotes, dashes and dots",
        (Level.BLANKS,),
        fold_signs,
        used,
    )


def fold_signs(row: str) -> str:
    """Return a row without typographic signs and blanks at its end."""
    return without_end(row.translate(_PLAIN))
