"""Find a quoted text among the lines of a file, white space aside."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from agentos.repository.context.showing import WITHHELD

_NUMBERED = re.compile(r"^[ \t]*[0-9]{1,7}(?:  |:[ \t]?|\t)", re.MULTILINE)
"""What a model may have copied from the beginning of a shown line."""


def find_quote(lines: Sequence[str], near: int, text: str) -> int | None:
    """Return the line at which a quoted text begins, the nearest to `near`, or None."""
    for quote in (text, _NUMBERED.sub("", text)):
        found = list(_find(lines, quote))
        if found:
            return min(found, key=lambda number: abs(number - near))
    return None


def _find(lines: Iterable[str], quote: str) -> Iterator[int]:
    """Yield the line at which each occurrence begins."""
    wanted = "".join(quote.split())
    if not wanted or wanted in _squeeze(WITHHELD):
        return
    squeezed = [_squeeze(line) for line in lines]
    starts = []
    size = 0
    for line in squeezed:
        starts.append(size)
        size += len(line)
    whole = "".join(squeezed)
    position = whole.find(wanted)
    while position >= 0:
        yield bisect_right(starts, position)
        position = whole.find(wanted, position + 1)


def _squeeze(text: str) -> str:
    return "".join(text.split())
