"""Find what a model copied out of its prompt into its answer: the issue, or words that were meant for the model."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentos.documents.markdown import Kind, Line
from agentos.documents.words import normalise

_DELIMITER = re.compile(r"<<<[A-Z_]{2,40}|[A-Z_]{2,40}>>>")
_ORDERS = (
    *("critical: this lld", "critical: use", "important: this lld", "use this exact", "remember to use"),
    *("you are a ", "you are an ", "output only", "return only", "respond with", "respond only", "answer only with"),
    *("do not include any", "write a markdown", "the texts between", "leave no placeholder", "you write the"),
    "if there is a previous draft",
)
_LEAST_ROWS = 3
_COPIED = 0.5


def is_order(row: str) -> bool:
    """Tell whether a row speaks to the model that writes, not to the reader."""
    bare = row.strip().lstrip("*_>#- ").casefold()
    return bare.startswith(_ORDERS) or bool(_DELIMITER.fullmatch(row.strip()[:90]))


def find_delimiter(lines: Iterable[Line]) -> int | None:
    """Return the line of the first mark with which a prompt delimits its material."""
    text = Kind.TEXT
    for line in lines:
        is_marked = line.kind is text and ("<<<" in line.text or ">>>" in line.text)
        if is_marked and _DELIMITER.fullmatch(line.text.strip()[:90]):
            return line.number
    return None


def is_copy(rows: Iterable[str], source: str) -> bool:
    """Tell whether most of these rows stand word for word in the source."""
    own = [bare for row in rows if (bare := normalise(row[:2000]))]
    if len(own) < _LEAST_ROWS:
        return False
    given = {bare for row in source.split("\n") if (bare := normalise(row[:2000]))}
    return sum(row in given for row in own) >= _COPIED * len(own)
