"""Write the replacement of lines that were found with other blanks than searched.

Lines that the edit leaves alone keep what the file has. The other ones get the
indentation of the file, as far as the lines that were found show what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

from agentos.documents.changes.matching import (
    Level,
    depth_of,
    find_shift,
    indent_of,
    is_blank,
    without_end,
)
from agentos.documents.changes.model import Rows

_MAX_ALIGNED = 500
_MAX_DEPTH = 16
_STEP = 4
_HALF = 2
_UNITS = ("\t", "  ", "    ", "        ")


_Pair = tuple[str, str | None]
"""An indentation in an edit and in the file, None if there are several."""


class Unclear(Exception):
    """A line whose indentation cannot be told; `str()` is the line."""


def rewrite(
    level: Level,
    search: Rows,
    found: Rows,
    replace: Rows,
) -> list[str]:
    """Return the rows that replace the found ones, or raise `Unclear`."""
    is_gone = all(map(is_blank, replace))
    if is_gone or level is Level.EXACT:
        return list(replace)
    kept = align(search, found, replace)
    if level is Level.BLANKS:
        moved: Rows = replace
        if _has_only_more_blanks(search, found):
            moved = list(map(without_end, replace))
    elif level is Level.SHIFT:
        moved = _shift(search, found, replace, kept)
    else:
        moved = _map(search, found, replace, kept)
    rows = list(moved)
    for number, row in kept.items():
        rows[number] = row
    return rows


def _has_only_more_blanks(search: Rows, found: Rows) -> bool:
    """Tell whether each line of a SEARCH ends with blanks that the file has not."""
    for want, have in zip(search, found, strict=True):
        if is_blank(want):
            continue
        if want == without_end(want) or have != without_end(have):
            return False
    return True


def align(
    search: Rows,
    found: Rows,
    replace: Rows,
) -> dict[int, str]:
    """Return the rows of a replacement that the edit leaves alone, as the file has
    them.
    """
    places = align_rows(search, replace)
    return {number: found[place] for number, place in places.items()}


def align_rows(search: Rows, replace: Rows) -> dict[int, int]:
    """Return which rows of a replacement are which ones of the SEARCH."""
    old = list(map(without_end, search))
    new = list(map(without_end, replace))
    start = _count_same(old, new)
    old_rest = old[start:]
    new_rest = new[start:]
    old_rest.reverse()
    new_rest.reverse()
    end = _count_same(old_rest, new_rest)
    old_end = len(old) - end
    new_end = len(new) - end
    places = {number: number for number in range(start)}
    for number in range(end):
        places[new_end + number] = old_end + number
    old = old[start:old_end]
    new = new[start:new_end]
    longest = max(len(old), len(new))
    if longest > _MAX_ALIGNED:
        return places
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            number = start + block.b + offset
            places[number] = start + block.a + offset
    return places


def _count_same(old: Rows, new: Rows) -> int:
    """Return how many rows are the same from the beginning."""
    count = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        count += 1
    return count


def _shift(
    search: Rows,
    found: Rows,
    replace: Rows,
    kept: Mapping[int, str],
) -> list[str]:
    shift = find_shift(search, found)
    if shift is None:
        return list(replace)
    least = _least_depth(replace)
    least_found = _least_depth(found)
    if shift.added and least >= least_found:
        # Only the SEARCH lost its indentation: one level deeper than what it replaces,
        # the replacement could not stand there.
        return list(replace)
    if shift.removed and least == least_found:
        raise Unclear(_first_line(replace))
    is_by_four = _is_by_four(found)
    rows = []
    above = ""
    for number, row in enumerate(replace):
        if is_blank(row):
            rows.append("")
            continue
        moved = shift.added + row.removeprefix(shift.removed)
        if number not in kept:
            if not row.startswith(shift.removed):
                raise Unclear(row)
            if not _may_follow(above, moved, is_by_four=is_by_four):
                raise Unclear(row)
        above = moved
        rows.append(moved)
    return rows


def _is_by_four(found: Rows) -> bool:
    """Tell whether lines of a file are indented by four blanks at a time."""
    for row in found:
        if is_blank(row):
            continue
        if depth_of(row) % _STEP:
            return False
    return True


def _may_follow(
    above: str,
    row: str,
    *,
    is_by_four: bool,
) -> bool:
    """Tell whether a row may be meant to stand below another one in the file."""
    if not above or "\t" in indent_of(row):
        return True
    step = depth_of(row) - depth_of(above)
    if is_by_four and step == _HALF:
        return False
    if above.endswith((":", "{")):
        return step <= _STEP
    return True


def _map(
    search: Rows,
    found: Rows,
    replace: Rows,
    kept: Mapping[int, str],
) -> list[str]:
    indents = _Indents(search, found)
    following = map(str.strip, search[1:])
    later = set(following)
    rows = []
    is_first = True
    for number, row in enumerate(replace):
        bare = row.strip(" \t")
        indent: str | None = ""
        if bare and number not in kept:
            mine = indent_of(row)
            begins = is_first and bare not in later
            indent = indents.translate(mine, is_first=begins)
        if indent is None:
            raise Unclear(row)
        rows.append(indent + bare)
        if bare:
            is_first = False
    return rows


class _Indents:
    """Which indentation of a file stands for which one of an edit."""

    def __init__(self, search: Rows, found: Rows) -> None:
        pairs = _pair(search, found)
        self._first, *rest = pairs
        self._known: dict[str, str | None] = {}
        self._is_first_off = bool(rest)
        for want, have in rest:
            if want != have:
                self._is_first_off = False
        if self._is_first_off:
            pairs = rest
        for want, have in pairs:
            known = self._known.setdefault(want, have)
            if known != have:
                self._known[want] = None
        self._unit = _find_unit(self._known)

    def translate(self, indent: str, *, is_first: bool) -> str | None:
        """Return the indentation of the file, None if it cannot be told."""
        if self._is_first_off:
            return self._translate_first(indent, is_first=is_first)
        if indent in self._known:
            return self._known[indent]
        if self._unit is None:
            return None
        mine, theirs = self._unit
        depth = len(indent) // len(mine)
        if mine * depth != indent:
            return None
        return theirs * depth

    def _translate_first(self, indent: str, *, is_first: bool) -> str | None:
        """Translate where only the first line of the SEARCH has lost its blanks."""
        lost, kept = self._first
        is_known = indent in self._known
        if indent == lost:
            if is_first and not is_known:
                return kept
            if is_first or not is_known:
                return None
        if is_known or len(indent) >= len(kept):
            return indent
        return None


def _pair(search: Rows, found: Rows) -> list[tuple[str, str]]:
    """Return the indentation of each line in an edit and in the file."""
    pairs = []
    for want, have in zip(search, found, strict=True):
        if is_blank(want):
            continue
        mine = indent_of(want)
        theirs = indent_of(have)
        pair = (mine, theirs)
        pairs.append(pair)
    return pairs


def _find_unit(known: Mapping[str, str | None]) -> tuple[str, str] | None:
    """Return one level of indentation in an edit and in the file, if all lines fit."""
    pairs = list(known.items())
    want, have = max(pairs, key=_length)
    if not have:
        return None
    for depth in range(1, _MAX_DEPTH):
        mine = want[: len(want) // depth]
        theirs = have[: len(have) // depth]
        if mine not in _UNITS or theirs not in _UNITS:
            continue
        # One line alone does not tell a wider unit from a lost level.
        units = (mine, theirs)
        is_told = "\t" in units
        if len(pairs) > 1:
            is_told = True
        if is_told and _is_scaled(pairs, mine, theirs):
            return units
    return None


def _length(pair: _Pair) -> int:
    return len(pair[0])


def _is_scaled(pairs: Iterable[_Pair], mine: str, theirs: str) -> bool:
    for want, have in pairs:
        depth = len(want) // len(mine)
        scaled = (mine * depth, theirs * depth)
        if scaled != (want, have):
            return False
    return True


def _least_depth(rows: Rows) -> int:
    written = filter(str.strip, rows)
    depths = map(depth_of, written)
    return min(depths, default=0)


def _first_line(rows: Rows) -> str:
    for row in rows:
        if not is_blank(row):
            return row
    return ""
