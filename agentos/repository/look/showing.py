"""Show numbered lines, and cut what is too long with a word about what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
        for number in range(first, min(last, len(lines)) + 1):
            line = shorten(lines[number - 1])
            shown.append(f"{number:5}  {line}")
    return shown


def shorten(line: str) -> str:
    """Cut a line that is too long and say how much is missing."""
    more = len(line) - _LONGEST_LINE
    if more <= 0:
        return line
    return f"{line[:_LONGEST_LINE]} [cut, {more:,} more characters]"


def merge(ranges: Iterable[Range]) -> list[Range]:
    """Return sorted ranges, of which no two touch."""
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            begin, end = merged.pop()
            merged.append((begin, max(end, last)))
        else:
            merged.append((first, last))
    return merged


def fit(rows: Sequence[str], limit: int) -> str:
    """Return whole rows of at most `limit` characters, and say how many are missing."""
    text = "\n".join(rows)
    if len(text) <= limit:
        return text
    left = limit - len(_describe_cut(len(rows)))
    kept: list[str] = []
    for row in rows:
        left -= len(row) + 1
        if left < 0:
            break
        kept.append(row)
    remark = _describe_cut(len(rows) - len(kept))
    return "\n".join([*kept, remark])


def _describe_cut(missing: int) -> str:
    lines = count(missing, "more line")
    return f"cut, {lines}"
