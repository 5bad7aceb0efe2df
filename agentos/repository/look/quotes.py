"""Find a quoted text among the lines of a file, white space aside."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from agentos.repository.look.masking import WITHHELD

_NOTHING = "\0"
_NUMBERED = re.compile(r"^[ \t]*[0-9]{1,7}(?:\| ?|  |:[ \t]?|\t)", re.MULTILINE)
"""What a model may have copied from the beginning of a shown line."""


def find_quote(lines: Sequence[str], near: int, text: str) -> int | None:
    """Return the line at which a quoted text begins, the nearest to `near`, or None."""
    found = list(_find(lines, text))
    if not found:
        bare = _NUMBERED.sub("", text)
        found = list(_find(lines, bare))
    if not found:
        return None
    return min(found, key=lambda number: abs(number - near))


def _find(lines: Iterable[str], quote: str) -> Iterator[int]:
    """Yield the line at which each occurrence begins."""
    wanted = _squeeze(quote)
    if not wanted:
        return
    parts = []
    starts = []
    size = 0
    for line in lines:
        part = _squeeze(line)
        if line == WITHHELD:
            # Nobody has seen that line, so nobody can quote it.
            part = _NOTHING
        parts.append(part)
        starts.append(size)
        size += len(part)
    whole = "".join(parts)
    position = whole.find(wanted)
    while position >= 0:
        # Lines without a character begin where the next one does.
        yield bisect_right(starts, position)
        position = whole.find(wanted, position + 1)


def _squeeze(text: str) -> str:
    return "".join(text.split())
