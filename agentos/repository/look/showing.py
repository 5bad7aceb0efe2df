"""Show numbered lines, and cut what is too long with a word about what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count as count_from

from agentos.repository.look.asking import Range
from agentos.state.wording import count

_LONGEST_LINE = 600
_GAP = "  ..."


@dataclass(frozen=True, slots=True)
class Numbered:
    """Numbered lines, and which of those wanted are among them."""

    rows: list[str]
    shown: list[Range]
    hidden: list[Range]


def number_lines(
    lines: Sequence[str],
    ranges: Iterable[Range],
) -> list[str]:
    """Return the lines of some ranges with their numbers, and a mark at each gap.

    The number and a bar stand before every line, so that no line of a file can be
    taken for one of the answer, and its indentation can be copied.
    """
    shown: list[str] = []
    for first, last in ranges:
        if shown:
            shown.append(_GAP)
        part = lines[first - 1 : last]
        numbers = count_from(first)
        shown += map(_number, numbers, part)
    return shown


def number_within(
    lines: Sequence[str],
    ranges: Sequence[Range],
    room: int,
) -> Numbered:
    """Return as many lines of some ranges as fit; each range gets a fair share."""
    numbered = []
    for place in ranges:
        rows = [_GAP]
        rows += number_lines(lines, [place])
        numbered.append(rows)
    sizes = list(map(size_of, numbered))
    shares = share_room(sizes, room)
    kept: list[str] = []
    shown = []
    hidden = []
    for place, rows, share in zip(ranges, numbered, shares, strict=True):
        first, last = place
        fitting = count_fitting(rows, share)
        end = first + max(fitting - 1, 0)
        if end > first:
            kept += rows[:fitting]
            shown.append((first, end - 1))
        if end <= last:
            hidden.append((end, last))
    return Numbered(kept[1:], shown, hidden)


def share_room(
    sizes: Sequence[int],
    room: int,
) -> list[int]:
    """Divide some room: what needs less than an equal part leaves the rest to others."""
    shares = [0] * len(sizes)
    left = room
    waiting = len(sizes)
    smallest_first = sorted(range(waiting), key=sizes.__getitem__)
    for index in smallest_first:
        part = min(sizes[index], left // waiting)
        shares[index] = part
        left -= part
        waiting -= 1
    return shares


def count_fitting(
    rows: Iterable[str],
    room: float,
) -> int:
    """Return how many of the first rows fit."""
    left = room
    fitting = 0
    for row in rows:
        left -= len(row) + 1
        if left < 0:
            break
        fitting += 1
    return fitting


def size_of(rows: Iterable[str]) -> int:
    """Return the number of characters of some rows with their line ends."""
    return sum(len(row) + 1 for row in rows)


def name_ranges(ranges: Iterable[Range]) -> str:
    """Return ranges as they are written in a look."""
    shown = [f"{first}-{last}" for first, last in ranges]
    return ", ".join(shown)


def _number(
    number: int,
    line: str,
) -> str:
    short = shorten(line)
    return f"{number:5}| {short}"


def shorten(line: str) -> str:
    """Cut a line that is too long and say how much is missing."""
    more = len(line) - _LONGEST_LINE
    if more <= 0:
        return line
    kept = line[:_LONGEST_LINE]
    return f"{kept} [cut, {more:,} more characters]"


def merge(ranges: Iterable[Range]) -> list[Range]:
    """Return sorted ranges, of which no two touch."""
    merged: list[Range] = []
    begin = 0
    end = 0
    for first, last in sorted(ranges):
        if merged and first <= end + 1:
            merged.pop()
            end = max(end, last)
        else:
            begin = first
            end = last
        merged.append((begin, end))
    return merged


def fit(
    rows: Sequence[str],
    limit: int,
) -> str:
    """Return whole rows of at most `limit` characters, and say how many are missing."""
    text = "\n".join(rows)
    if len(text) <= limit:
        return text
    total = len(rows)
    longest = _describe_cut(total)
    fitting = count_fitting(rows, limit - len(longest))
    kept = list(rows[:fitting])
    missing = total - len(kept)
    remark = _describe_cut(missing)
    kept.append(remark)
    return "\n".join(kept)


def _describe_cut(missing: int) -> str:
    lines = count(missing, "more line")
    return f"cut, {lines}"
