"""Show numbered lines, and cut what is too long with a word about what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count as count_from

from agentos.repository.look.asking import Range
from agentos.state.wording import count

_LONGEST_LINE = 600
_GAP = "  ..."


def number_lines(lines: Sequence[str], ranges: Iterable[Range]) -> list[str]:
    """Return the lines of some ranges with their numbers, and a mark at each gap.

    The number stands before every line, so that no line of a file can be taken for
    one of the answer.
    """
    shown: list[str] = []
    for first, last in ranges:
        if shown:
            shown.append(_GAP)
        part = lines[first - 1 : last]
        numbers = count_from(first)
        shown += map(_number, numbers, part)
    return shown


def _number(number: int, line: str) -> str:
    short = shorten(line)
    return f"{number:5}  {short}"


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


def fit(rows: Sequence[str], limit: int) -> str:
    """Return whole rows of at most `limit` characters, and say how many are missing."""
    text = "\n".join(rows)
    if len(text) <= limit:
        return text
    total = len(rows)
    longest = _describe_cut(total)
    left = limit - len(longest)
    kept: list[str] = []
    for row in rows:
        left -= len(row)
        left -= len("\n")
        if left < 0:
            break
        kept.append(row)
    missing = total - len(kept)
    remark = _describe_cut(missing)
    kept.append(remark)
    return "\n".join(kept)


def _describe_cut(missing: int) -> str:
    lines = count(missing, "more line")
    return f"cut, {lines}"
