"""Take the fence off an answer that is one fenced document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentos.documents.markdown import fence_opening
from agentos.documents.verdict.vocabulary import word_set

_ELEMENT = re.compile(r"^<(h[1-6]|verdict)>([^<>\n]{1,200})</\1>[ \t]{0,20}$", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_KINDS = frozenset({"", "markdown", "md", "text", "txt", "plaintext"})
_ANNOUNCING = word_set(
    "sure certainly okay ok of course here is s heres below following my the a an completed complete full final"
    " detailed formal structured lld governance design technical document review verdict assessment evaluation report"
    " feedback for this issue brief spec in markdown format as requested and it number"
)
_COURTESY = word_set(
    "let me know if you need want have any more anything else questions further details to would like help i can a"
    " of the this review look at what"
)
_ANNOUNCED = word_set("review verdict assessment evaluation report feedback")


def unwrap(rows: Sequence[str]) -> list[str]:
    """Return the rows with an outer fence blanked, so that every line keeps its number.

    The fence has to hold the whole document: it opens the answer, or follows one sentence that announces a review,
    and it closes on the last line, or above one line of courtesy. A fence inside it that names a language ends with
    its own closing line.
    """
    fenced = (index for index, row in enumerate(rows) if ("```" in row or "~~~" in row) and fence_opening(row))
    first = next(fenced, None)
    opening = fence_opening(rows[first]) if first is not None else None
    if first is None or opening is None:
        return list(rows)
    kind = opening[1].casefold()
    before = " ".join([row for row in rows[:first] if row.strip()])
    kinds = _KINDS if before else _KINDS | {"yaml", "yml"}
    if kind not in kinds or (before and not _announces(before, kind)):
        return list(rows)
    last = _closing(rows, first)
    if last < 0 or not _takes_leave([row for row in rows[last + 1 :] if row.strip()], kind):
        return list(rows)
    inside = list(rows)
    for index in (*range(first + 1), *range(last, len(rows))):
        inside[index] = ""
    return inside


def without_thoughts(text: str) -> str:
    """Return an answer with a leading block of thoughts blanked, so that every line keeps its number."""
    start = text.lstrip()
    for name in ("think", "thinking"):
        if start.startswith(f"<{name}>"):
            end = text.find(f"</{name}>")
            if end >= 0:
                return "\n" * text.count("\n", 0, end) + text[end + len(name) + 3 :]
    return text


def plain_rows(text: str) -> str:
    """Write lines that are one heading or verdict element as the Markdown that they stand for."""
    if "</" not in text or not _ELEMENT.search(text):
        return text
    return "\n".join(_ELEMENT.sub(_as_markdown, row) if len(row) < 400 else row for row in text.split("\n"))


def _as_markdown(match: re.Match[str]) -> str:
    if match[1].casefold() == "verdict":
        return f"**Verdict:** {match[2].strip()}"
    return f"{'#' * int(match[1][1])} {match[2].strip()}"


def _announces(text: str, kind: str) -> bool:
    words = _WORD.findall(text[:300].casefold())
    known = [word for word in words if not word.isdigit()]
    is_short = len(text) <= 300 and len(words) <= 20
    return is_short and kind in ("markdown", "md") and _ANNOUNCING.issuperset(known) and bool(_ANNOUNCED & set(known))


def _takes_leave(rows: Sequence[str], kind: str) -> bool:
    """Tell whether nothing follows a fenced review, or one line of courtesy."""
    if not rows:
        return True
    words = _WORD.findall(rows[0][:200].casefold())
    is_short = len(rows) == 1 and len(rows[0]) <= 200 and kind in ("markdown", "md")
    return is_short and words[:3] == ["let", "me", "know"] and _COURTESY.issuperset(words)


def _closing(rows: Sequence[str], first: int) -> int:
    """Return the row that closes the fence opened in a row, or -1."""
    opened: list[str] = []
    for index in [n for n in range(first, len(rows)) if "```" in rows[n] or "~~~" in rows[n]]:
        found = fence_opening(rows[index])
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
