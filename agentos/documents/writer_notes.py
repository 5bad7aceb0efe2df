"""Read what a writer says about findings, in the block that follows its document.

```notes
F1: done, section 2.5
F3: contested, src/export.py:120 `with open(path) as file:` - the block closes it
F4: declined, the issue gives this name
issue: "sorted by name" - src/export.py:44 `sorted(members, key=ids)` - by id, as now
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.documents.findings import Quote
from agentos.documents.ledger import Contest
from agentos.documents.markdown import fence_opening, is_fence_close, split_lines
from agentos.documents.verdict.model import SourceError

INFO = "notes"
_MOST_LINES = 200
_LONGEST_LINE = 2_000
_FINDING = re.compile(
    r"[-*\s]*[*`]{0,2}([A-Za-z][\w.-]{0,39})[*`]{0,2}\s*[:\u2013\u2014-]\s*"
    r"[*_]{0,2}(done|resolved|fixed|contested|disputed|declined)\b[*_]{0,2}[\s,.:;\u2013\u2014-]*(.*)",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"[-*\s]*(?:issue|brief|source)\s*:\s*(.+)", re.IGNORECASE)
# A path is tried from its beginning only, and space is matched in one way only: a line of
# a long word and much space would otherwise take minutes.
_QUOTE = re.compile(
    r"`?(?<![^\s`:])([^\s`:]{1,300}):([0-9]{1,7})(?:-[0-9]{1,7})?`?"
    r"\s*(?::\s*)?(`{1,9})(.+?)\3"
)
_EDGES = " \t,.;:\u2013\u2014-\"'\u201c\u201d"
_CONTESTED = frozenset({"contested", "disputed"})
_DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class WriterNotes:
    """What a writer says beside its document."""

    done: tuple[str, ...] = ()
    """The ids of the findings that it says are resolved, with where."""
    contests: tuple[Contest, ...] = ()
    declined: tuple[Contest, ...] = ()
    """The suggestions that it does not follow, with the reasons."""
    source_errors: tuple[SourceError, ...] = ()


def split_notes(answer: str) -> tuple[str, WriterNotes]:
    """Return an answer without its last block `notes`, and what the block says."""
    rows = split_lines(answer)
    block = _find_block(rows)
    if block is None:
        return answer, WriterNotes()
    start, end = block
    before = rows[:start]
    inside = rows[start + 1 : end]
    after = rows[end + 1 :]
    kept = before + after
    document = "\n".join(kept)
    return document, _read(inside)


def _find_block(rows: list[str]) -> tuple[int, int] | None:
    """Return the first and the last row of the last block `notes`.

    An open block shows that the answer was cut off, so it counts as none.
    """
    last = len(rows) - 1
    for start in range(last, -1, -1):
        mark = _opening_mark(rows[start])
        if mark:
            break
    else:
        return None
    for end in range(start + 1, len(rows)):
        if is_fence_close(rows[end], mark):
            return start, end
    return None


def _opening_mark(row: str) -> str:
    """Return the fence of a row that opens a block `notes`, else nothing."""
    # Few rows have the word, and only they are parsed.
    if INFO not in row.casefold():
        return ""
    opening = fence_opening(row)
    if opening is None:
        return ""
    mark, info = opening
    if info.casefold() != INFO:
        return ""
    return mark


def _read(rows: list[str]) -> WriterNotes:
    """Read the rows of a block; what is no note is left out."""
    done: list[str] = []
    contests: list[Contest] = []
    declined: list[Contest] = []
    errors: list[SourceError] = []
    for row in rows[:_MOST_LINES]:
        bare = row.strip()
        line = bare[:_LONGEST_LINE]
        source = _SOURCE.fullmatch(line)
        if source is not None:
            rest = source[1]
            error = _read_source_error(rest)
            if error is not None:
                errors.append(error)
            continue
        finding = _FINDING.fullmatch(line)
        if finding is None:
            continue
        id, word, rest = finding.groups()
        said = word.casefold()
        if said == _DECLINED:
            contest = _read_contest(id, rest)
            declined.append(contest)
        elif said in _CONTESTED:
            contest = _read_contest(id, rest)
            contests.append(contest)
        else:
            where = rest.strip()
            done.append(f"{id}: {where}")
    return WriterNotes(
        tuple(done),
        tuple(contests),
        tuple(declined),
        tuple(errors),
    )


def _read_contest(id: str, rest: str) -> Contest:
    before, quote, after = _split_at_quote(rest)
    parts = filter(None, (before, after))
    reason = "; ".join(parts)
    return Contest(id, reason, quote)


def _read_source_error(rest: str) -> SourceError | None:
    sentence, quote, reading = _split_at_quote(rest)
    if quote is None:
        return None
    if not sentence or not reading:
        return None
    return SourceError(sentence, quote, reading)


def _split_at_quote(text: str) -> tuple[str, Quote | None, str]:
    """Return what stands before the first quoted line, the quote, and what follows."""
    found = _QUOTE.search(text)
    if found is None:
        whole = text.strip(_EDGES)
        return whole, None, ""
    start, end = found.span()
    before = text[:start]
    before = before.strip(_EDGES)
    after = text[end:]
    after = after.strip(_EDGES)
    path, number, _, code = found.groups()
    line = int(number)
    quote = Quote(path, line, code)
    return before, quote, after
