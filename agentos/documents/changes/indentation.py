"""Write the replacement of lines that were found with other blanks than searched.

Lines that the edit leaves alone keep what the file has. The other ones get the
indentation of the file, as far as the lines that were found show what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from agentos.documents.changes.matching import (
    Level,
    Shift,
    find_shift,
    indent_of,
    without_end,
)
from agentos.documents.changes.model import Rows

_MAX_ALIGNED = 500
_MAX_DEPTH = 16
_STEP = 4
_UNITS = ("\t", "  ", "    ", "        ")


class Unclear(Exception):
    """A line whose indentation cannot be told; `str()` is the line."""


def rewrite(level: Level, search: Rows, found: Rows, replace: Rows) -> list[str]:
    """Return the rows that replace the found ones, or raise `Unclear`."""
    if level is Level.EXACT or not any(map(str.strip, replace)):
        return list(replace)
    kept = align(search, found, replace)
    if level is Level.BLANKS:
        moved: Rows = replace
    elif level is Level.SHIFT:
        moved = _shift(search, found, replace, kept)
    else:
        moved = _map(search, found, replace, kept)
    rows = list(moved)
    for number, row in kept.items():
        rows[number] = row
    return rows


def align(search: Rows, found: Rows, replace: Rows) -> dict[int, str]:
    """Return the rows of a replacement that the edit leaves alone, as the file has
    them.
    """
    old = list(map(without_end, search))
    new = list(map(without_end, replace))
    kept: dict[int, str] = {}
    start = 0
    least = min(len(old), len(new))
    while start < least and old[start] == new[start]:
        kept[start] = found[start]
        start += 1
    end = 0
    while end < least - start and old[-end - 1] == new[-end - 1]:
        end += 1
        kept[len(new) - end] = found[len(old) - end]
    middle_old = old[start : len(old) - end]
    middle_new = new[start : len(new) - end]
    if max(len(middle_old), len(middle_new)) > _MAX_ALIGNED:
        return kept
    matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            number = start + block.b + offset
            kept[number] = found[start + block.a + offset]
    return kept


def _shift(
    search: Rows, found: Rows, replace: Rows, kept: Mapping[int, str]
) -> list[str]:
    shift = find_shift(search, found) or Shift()
    if shift.added and _is_of_file(found, replace):
        return list(replace)
    if shift.removed and _least_indent(replace) == _least_indent(found):
        raise Unclear(_first_line(replace))
    rows = []
    above = ""
    for number, row in enumerate(replace):
        if not row.strip():
            rows.append("")
            continue
        moved = shift.added + row.removeprefix(shift.removed)
        is_new = number not in kept
        if is_new and not row.startswith(shift.removed):
            raise Unclear(row)
        if is_new and not _may_follow(above, moved, found):
            raise Unclear(row)
        above = moved
        rows.append(moved)
    return rows


def _may_follow(above: str, row: str, found: Rows) -> bool:
    """Tell whether a row may be meant to stand below another one in the file."""
    step = len(indent_of(row)) - len(indent_of(above))
    if not above or step <= 0 or "\t" in indent_of(row):
        return True
    if above.endswith((":", "{")) and step > _STEP:
        return False
    by_four = all(len(indent_of(one)) % _STEP == 0 for one in found if one.strip())
    return not by_four or 2 * step != _STEP


def _is_of_file(found: Rows, replace: Rows) -> bool:
    """Tell whether only the SEARCH lost its indentation, and the replacement did not."""
    if not any(map(str.strip, replace)):
        return False
    # One level deeper than what it replaces, it could not stand there.
    return len(_least_indent(replace)) >= len(_least_indent(found))


def _map(
    search: Rows, found: Rows, replace: Rows, kept: Mapping[int, str]
) -> list[str]:
    indents = _Indents(search, found)
    later = {row.strip() for row in search[1:]}
    rows = []
    is_first = True
    for number, row in enumerate(replace):
        if not row.strip() or number in kept:
            rows.append(row.strip())
        else:
            is_first = is_first and row.strip() not in later
            indent = indents.translate(indent_of(row), is_first=is_first)
            if indent is None:
                raise Unclear(row)
            rows.append(indent + row.lstrip(" \t"))
        is_first = is_first and not row.strip()
    return rows


class _Indents:
    """Which indentation of a file stands for which one of an edit."""

    def __init__(self, search: Rows, found: Rows) -> None:
        pairs = []
        for want, have in zip(search, found, strict=True):
            if want.strip():
                pairs.append((indent_of(want), indent_of(have)))
        self._first = pairs[0]
        self._known: dict[str, str | None] = {}
        rest = pairs[1:]
        self._is_first_off = bool(rest) and all(want == have for want, have in rest)
        if self._is_first_off:
            pairs = rest
        for want, have in pairs:
            if self._known.setdefault(want, have) != have:
                self._known[want] = None
        self._units = _find_units(self._known)

    def translate(self, indent: str, *, is_first: bool) -> str | None:
        """Return the indentation of the file, None if it cannot be told."""
        if self._is_first_off:
            return self._translate_first(indent, is_first=is_first)
        if indent in self._known:
            return self._known[indent]
        for mine, theirs in self._units:
            depth = len(indent) // len(mine)
            if mine * depth == indent:
                return theirs * depth
        return None

    def _translate_first(self, indent: str, *, is_first: bool) -> str | None:
        """Translate where only the first line of the SEARCH has lost its blanks."""
        lost, kept = self._first
        if indent == lost and (is_first or indent not in self._known):
            is_clear = is_first and indent not in self._known
            return kept if is_clear else None
        if indent in self._known:
            return indent
        if len(indent) < len(kept):
            return None
        return indent


def _find_units(known: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Return one level of indentation in an edit and in the file, if all pairs fit."""
    pairs = [(want, have) for want, have in known.items() if want or have]
    if not pairs:
        return []
    want, have = pairs[0]
    if not want or not have:
        return []
    found = []
    for depth in range(1, _MAX_DEPTH):
        mine = want[: len(want) // depth]
        theirs = have[: len(have) // depth]
        if mine not in _UNITS or theirs not in _UNITS:
            continue
        if all(_is_scaled(one, other, mine, theirs) for one, other in pairs):
            found.append((mine, theirs))
    if len(pairs) == 1 and not any("\t" in unit for unit in found[:1]):
        # One line alone does not tell a wider unit from a lost level.
        return []
    return found[:1]


def _is_scaled(want: str, have: str | None, mine: str, theirs: str) -> bool:
    depth = len(want) // len(mine)
    return want == mine * depth and have == theirs * depth


def _least_indent(rows: Rows) -> str:
    indents = [indent_of(row) for row in rows if row.strip()]
    return min(indents, key=len, default="")


def _first_line(rows: Rows) -> str:
    for row in rows:
        if row.strip():
            return row
    return ""
