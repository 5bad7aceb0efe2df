"""Read a SEARCH that says its lines in a way that no file has them.

Models copy line numbers, put signs of a diff or a fence around lines, escape characters
for HTML, and make quotes typographic. Each spelling is tried only if the lines are not
found as they stand, and the replacement is read in the same spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import pairwise

from agentos.documents.changes.matching import Level, Normalize, is_blank, without_end
from agentos.documents.changes.model import Rows

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
_QUOTES = frozenset("\u2018\u2019\u201a\u201c\u201d\u201e")
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
    old_end = len(search) - after
    new_end = len(rest) - last
    old = search[before:old_end]
    new = rest[:new_end]
    yield Spelling(old, new, "without the blank lines around", tuple(Level))


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
    new = list(replace)
    if has_numbers:
        if not _follow(numbers, others):
            # Some of these numbers may well be text.
            return
        new = list(map(_after_number, replace))
    bare = list(map(_after_number, search))
    remark = "without line numbers"
    if all(row.startswith(" ") for row in bare if row):
        closer = new
        if has_numbers:
            closer = list(map(_without_blank, new))
        closest = list(map(_without_blank, bare))
        yield Spelling(closest, closer, remark)
    yield Spelling(bare, new, remark)


def _follow(numbers: Sequence[int], others: Sequence[int]) -> bool:
    """Tell whether the numbers of a replacement go with those of a SEARCH."""
    if not others:
        return False
    first = numbers[0]
    last = numbers[-1]
    return first <= others[0] <= last + 1


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
    size = len(rows)
    for one, other in pairwise(numbers):
        if not one < other <= one + size:
            return []
    return numbers


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
    if not _is_signed(search, "-"):
        return
    if replace and not _is_signed(replace, "+"):
        return
    old = list(map(_without_first, search))
    new = list(map(_without_first, replace))
    yield Spelling(old, new, "without the signs of a diff")


def _without_first(row: str) -> str:
    return row[1:]


def _is_signed(rows: Rows, sign: str) -> bool:
    """Tell whether rows begin with a sign or, but for one, with a blank."""
    count = 0
    for row in rows:
        if row.startswith(sign):
            count += 1
        elif not row.startswith(" ") and not is_blank(row):
            return False
    return count > 0


def _without_fence(search: Rows, replace: Rows) -> Iterator[Spelling]:
    if not _is_fenced(search):
        return
    inner = replace
    if _is_fenced(replace):
        inner = replace[1:-1]
    old = search[1:-1]
    yield Spelling(old, inner, "without the fence around", tuple(Level))


def _is_fenced(rows: Rows) -> bool:
    if len(rows) < 3:
        return False
    first, *_, last = rows
    if last.strip() != "```":
        return False
    return first.startswith("```")


def _unescaped(search: Rows, replace: Rows) -> Iterator[Spelling]:
    if not any(map(_ESCAPED.search, search)):
        return
    old = list(map(_unescape, search))
    new = list(map(_unescape, replace))
    yield Spelling(old, new, "with its characters unescaped")


def _unescape(row: str) -> str:
    return _ESCAPED.sub(_unescape_one, row)


def _unescape_one(found: re.Match[str]) -> str:
    return unescape(found[0])


def _with_plain_signs(search: Rows, replace: Rows) -> Iterator[Spelling]:
    """Compare without typographic signs; those of the SEARCH become plain ones."""
    signs = frozenset(_TYPOGRAPHIC)
    text = "".join(search)
    used = signs.intersection(text)
    if not used.isdisjoint(_QUOTES):
        # Who writes one kind of quotes like that writes all of them so.
        used |= _QUOTES
    plain = {}
    for sign in used:
        plain[sign] = _TYPOGRAPHIC[sign]
    table = str.maketrans(plain)
    old = list(map(fold_signs, search))
    new = [row.translate(table) for row in replace]
    yield Spelling(
        old,
        new,
        "with plain quotes, dashes and dots",
        (Level.BLANKS,),
        fold_signs,
        used,
    )


def fold_signs(row: str) -> str:
    """Return a row without typographic signs and blanks at its end."""
    return without_end(row.translate(_PLAIN))
