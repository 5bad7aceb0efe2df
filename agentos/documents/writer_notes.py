"""Read what a writer says about findings, in the block that follows its document.

```notes
F1: done, section 2.5
F3: contested, src/export.py:120 `with open(path) as file:` - the block closes it
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
_QUOTE = re.compile(
    r"`?([^\s`:]{1,300}):([0-9]{1,7})(?:-[0-9]{1,7})?`?\s*:?\s*(`+)(.+?)\3"
)
_EDGES = " \t,.;:\u2013\u2014-\"'\u201c\u201d"
_CONTESTED = frozenset({"contested", "disputed", "declined"})


@dataclass(frozen=True, slots=True)
class WriterNotes:
    """What a writer says beside its document."""

    done: tuple[str, ...] = ()
    """The ids of the findings that it says are resolved, with where."""
    contests: tuple[Contest, ...] = ()
    source_errors: tuple[SourceError, ...] = ()


def split_notes(answer: str) -> tuple[str, WriterNotes]:
    """Return an answer without its last block `notes`, and what the block says."""
    rows = split_lines(answer)
    start = _find_block(rows)
    if start is None:
        return answer, WriterNotes()
    mark, _ = fence_opening(rows[start]) or ("", "")
    for end in range(start + 1, len(rows)):
        if is_fence_close(rows[end], mark):
            kept = [*rows[:start], *rows[end + 1 :]]
            return "\n".join(kept), _read(rows[start + 1 : end])
    # An open block shows that the answer was cut off.
    return answer, WriterNotes()


def _find_block(rows: list[str]) -> int | None:
    for index in range(len(rows) - 1, -1, -1):
        row = rows[index]
        if INFO not in row.casefold():
            continue
        opening = fence_opening(row)
        if opening is not None and opening[1].strip().casefold() == INFO:
            return index
    return None


def _read(rows: list[str]) -> WriterNotes:
    done = []
    contests = []
    errors = []
    for row in rows[:_MOST_LINES]:
        line = row.strip()[:_LONGEST_LINE]
        source = _SOURCE.fullmatch(line)
        if source is not None:
            error = _read_source_error(source[1])
            if error is not None:
                errors.append(error)
            continue
        finding = _FINDING.fullmatch(line)
        if finding is None:
            continue
        id, word, rest = finding.groups()
        if word.casefold() in _CONTESTED:
            contests.append(_read_contest(id, rest))
        else:
            done.append(f"{id}: {rest.strip()}")
    return WriterNotes(tuple(done), tuple(contests), tuple(errors))


def _read_contest(id: str, rest: str) -> Contest:
    found = _QUOTE.search(rest)
    if found is None:
        return Contest(id, rest.strip(_EDGES))
    before = rest[: found.start()].strip(_EDGES)
    after = rest[found.end() :].strip(_EDGES)
    reason = "; ".join(filter(None, (before, after)))
    return Contest(id, reason, _quote(found))


def _read_source_error(rest: str) -> SourceError | None:
    found = _QUOTE.search(rest)
    if found is None:
        return None
    sentence = rest[: found.start()].strip(_EDGES)
    reading = rest[found.end() :].strip(_EDGES)
    if not sentence or not reading:
        return None
    return SourceError(sentence, _quote(found), reading)


def _quote(found: re.Match[str]) -> Quote:
    return Quote(found[1], int(found[2]), found[4])
