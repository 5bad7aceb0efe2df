"""Compare a document with its revision, line by line and within bounds (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from agentos.state.wording import count

_CONTEXT = 2
_LONGEST = 8_000
"""Characters of changes: the whole document stands beside them."""

_Row = tuple[str, str]
"""A sign, and a line."""


def compare_documents(
    before: str,
    after: str,
) -> str:
    """Return the lines that a revision took away and added, with some around them.

    Lines that only moved, or differ in white space only, are left out.
    """
    old = before.splitlines()
    new = after.splitlines()
    old_plain = list(map(_plain, old))
    new_plain = list(map(_plain, new))
    matcher = SequenceMatcher(None, old_plain, new_plain)
    hunks = []
    removed = Counter[str]()
    added = Counter[str]()
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        rows: list[_Row] = []
        for tag, begin, end, new_begin, new_end in group:
            if tag == "equal":
                rows += _signed(" ", new[new_begin:new_end])
                continue
            gone = old[begin:end]
            come = new[new_begin:new_end]
            removed.update(map(_plain, gone))
            added.update(map(_plain, come))
            rows += _signed("-", gone)
            rows += _signed("+", come)
        hunks.append(rows)
    moved = removed & added
    shown: list[str] = []
    for rows in hunks:
        shown += _without_moved(rows, moved)
    return _bound(shown)


def _plain(
    line: str,
) -> str:
    words = line.split()
    return " ".join(words)


def _signed(
    sign: str,
    lines: Iterable[str],
) -> list[_Row]:
    return [(sign, line) for line in lines]


def _without_moved(
    rows: Iterable[_Row],
    moved: Counter[str],
) -> list[str]:
    """Return the rows of a place without the lines that stand elsewhere now; nothing if
    no others have changed.
    """
    kept = []
    has_changed = False
    for sign, line in rows:
        is_change = sign != " "
        if is_change and moved[_plain(line)]:
            continue
        has_changed = has_changed or is_change
        kept.append(sign + line)
    if not has_changed:
        return []
    return ["@@", *kept]


def _bound(
    rows: Sequence[str],
) -> str:
    """Return the first rows, and say how many are missing."""
    room = _LONGEST
    kept = []
    for number, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            left = count(len(rows) - number, "more line")
            kept.append(f"[{left} of changes: read the document itself]")
            break
        kept.append(row)
    return "\n".join(kept)
