"""Take the fence off an answer that is one fenced document."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.verdict.vocabulary import word_set

_KINDS = frozenset({"", "markdown", "md", "text", "txt", "plaintext"})
_ANNOUNCING = word_set(
    "sure certainly okay ok of course here is s heres below following my the a an completed complete full final"
    " detailed formal structured lld governance design technical document review verdict assessment evaluation report"
    " feedback for this issue brief spec in markdown format as requested and it number"
)
_ANNOUNCED = word_set("review verdict assessment evaluation report feedback")


def unwrap(rows: Sequence[str]) -> list[str]:
    """Return the rows with an outer fence blanked, so that every line keeps its number.

    The fence has to hold the whole document: it opens the answer, or follows one sentence that announces a review,
    and it closes on the last line. A fence inside it that names a language ends with its own closing line.
    """
    shown = [index for index, row in enumerate(rows) if row.strip()]
    first = next((index for index in shown if fence(rows[index])), None)
    if first is None or not fence(rows[shown[-1]]):
        return list(rows)
    before = " ".join(rows[index] for index in shown if index < first)
    opening = fence(rows[first])
    if opening is None or opening[1] not in _KINDS or not (not before or _announces(before, opening[1])):
        return list(rows)
    if _closing(rows, first) != shown[-1]:
        return list(rows)
    inside = list(rows)
    for index in (*range(first + 1), shown[-1]):
        inside[index] = ""
    return inside


def fence(row: str) -> tuple[str, str] | None:
    """Return the marks and the language of a row that is a fence."""
    mark = row.lstrip()[:1]
    if mark not in ("`", "~"):
        return None
    stripped = row.strip()
    info = stripped.lstrip(mark)
    length = len(stripped) - len(info)
    if length < 3 or mark in info:
        return None
    return mark * length, info.strip().casefold()


def _announces(text: str, kind: str) -> bool:
    words = "".join(letter if letter.isalnum() else " " for letter in text[:300].casefold()).split()
    known = [word for word in words if not word.isdigit()]
    is_short = len(text) <= 300 and len(words) <= 20
    return is_short and kind in ("markdown", "md") and _ANNOUNCING.issuperset(known) and bool(_ANNOUNCED & set(known))


def _closing(rows: Sequence[str], first: int) -> int:
    """Return the row that closes the fence opened in a row, or -1."""
    opened: list[str] = []
    for index in range(first, len(rows)):
        found = fence(rows[index])
        if found is None:
            continue
        marks, info = found
        closes = bool(opened) and not info and marks[0] == opened[-1][0] and len(marks) >= len(opened[-1])
        if not closes:
            opened.append(marks)
            continue
        opened.pop()
        if not opened:
            return index
    return -1
