"""Find text that a model copied from its prompt into its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentos.documents.markdown import Line
from agentos.documents.words import normalize

_DELIMITER = re.compile(r"<<<[A-Z_]{2,40}|[A-Z_]{2,40}>>>")
_MIN_ROWS = 3
_COPIED = 0.5


def _is_delimiter(row: str) -> bool:
    beginning = row.strip()[:90]
    return _DELIMITER.fullmatch(beginning) is not None


def find_delimiter(lines: Iterable[Line]) -> int | None:
    """Return the line of the first delimiter of a prompt, or None."""
    for line in lines:
        if line.is_text and _is_delimiter(line.text):
            return line.number
    return None


def is_copy(rows: Iterable[str], source: str) -> bool:
    """Tell whether the source contains at least half of these rows word for word."""
    own = _written(rows)
    # One or two rows may be alike by chance.
    if len(own) < _MIN_ROWS or not source:
        return False
    given = set(_written(source.split("\n")))
    copied = [row for row in own if row in given]
    return len(copied) >= _COPIED * len(own)


def _written(rows: Iterable[str]) -> list[str]:
    """Return the words of the rows that have any."""
    bare = [normalize(row[:2000]) for row in rows]
    return list(filter(None, bare))
