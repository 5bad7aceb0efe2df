"""Read patches of several files that name each file in a line of their own.

There are two forms: `*** Update File: path` between `*** Begin Patch` and `*** End Patch`,
and the output of `git diff`. The line numbers of hunks do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from agentos.documents.changes.diffs import path_in_header, read_diff
from agentos.documents.changes.fences import Layout
from agentos.documents.changes.markers import split_note
from agentos.documents.changes.matching import is_blank
from agentos.documents.changes.model import (
    Change,
    Deletion,
    EditedFile,
    Problem,
    Rows,
    WholeFile,
    problem_at,
)
from agentos.documents.changes.sections import join_rows

_ADD = "*** Add File: "
_UPDATE = "*** Update File: "
_DELETE = "*** Delete File: "
_NAMES = (_ADD, _UPDATE, _DELETE)
PATCH_SIGNS = (*_NAMES, "--- ")
"""What the rows that name a file begin with."""
_MOVE = "*** Move to:"
_ENDS = (
    "*** End Patch",
    "*** Begin Patch",
    "diff --git ",
    "```",
    "~~~",
)
_END_OF_FILE = "*** End of File"
_NO_END = "\\ No newline"
_HUNK = "@@"
_SIGNS = ("+", "-", " ", _HUNK, _NO_END)
_NOWHERE = "/dev/null"


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a patch that change one file."""

    line: int
    path: str
    kind: str
    rows: Rows
    end: int
    is_certain: bool


def read_patches(
    rows: Rows,
    candidates: Iterable[int],
    layout: Layout,
    expected: Collection[str],
) -> Iterator[tuple[int, Change | Problem]]:
    """Yield the row and the change of each file in patches outside named blocks.

    A diff of other files than the expected ones is an illustration.
    """
    parts = list(_find_parts(rows, candidates, layout.taken))
    is_meant = False
    for part in parts:
        if part.is_certain or part.path in expected:
            is_meant = True
    if not is_meant:
        return
    for part in parts:
        row = part.line - 1
        if part.kind != _DELETE:
            layout.take(row, part.end)
        yield row, _read(part)


def _find_parts(
    rows: Rows,
    candidates: Iterable[int],
    taken: bytes | bytearray,
) -> Iterator[_Part]:
    starts = []
    for row in candidates:
        if taken[row]:
            continue
        if rows[row].startswith(_NAMES) or _is_header(rows, row):
            starts.append(row)
    starts.append(len(rows))
    for start, after in pairwise(starts):
        end = start + 1
        while end < after and not taken[end]:
            if rows[end].startswith(_ENDS):
                break
            end += 1
        yield _read_part(rows, start, end)


def _is_header(rows: Rows, row: int) -> bool:
    """Tell whether a row is the `--- a/path` of a file in a diff."""
    end = row + 3
    old, *following = rows[row:end]
    if not old.startswith("--- "):
        return False
    match following:
        case [new, hunk]:
            return new.startswith("+++ ") and hunk.startswith(_HUNK)
    return False


def _read_part(rows: Rows, start: int, end: int) -> _Part:
    first = rows[start]
    body = start + 1
    is_certain = first.startswith(_NAMES)
    if is_certain:
        verb, _, name = first.partition(": ")
        kind = f"{verb}: "
        path, _ = split_note(name)
    else:
        old = path_in_header(first)
        new = path_in_header(rows[body])
        kind, path = _read_header(old, new)
        body += 1
    return _Part(
        line=start + 1,
        path=path,
        kind=kind,
        rows=rows[body:end],
        end=end,
        is_certain=is_certain,
    )


def _read_header(old: str, new: str) -> tuple[str, str]:
    """Return what a diff does to a file, and the path."""
    if old == _NOWHERE:
        return _ADD, new
    if new == _NOWHERE:
        return _DELETE, old
    return _UPDATE, new


def _read(part: _Part) -> Change | Problem:
    path = part.path
    line = part.line
    if part.kind == _DELETE:
        return Deletion(path, line)
    body = []
    for row in part.rows:
        if row.startswith(_MOVE):
            return problem_at(
                line,
                f"the patch moves `{path}`; send the new file whole, and delete it.",
            )
        if not row.startswith(_END_OF_FILE):
            body.append(row)
    while body and is_blank(body[-1]):
        body.pop()
    if part.kind == _ADD:
        return _read_new(part, body)
    return _read_update(part, body)


def _read_update(part: _Part, body: Rows) -> Change | Problem:
    path = part.path
    line = part.line
    for row in body:
        if not is_blank(row) and not row.startswith(_SIGNS):
            return _say_unsigned(part, "` `, `-` or `+`")
    edits = read_diff(body, line + 1)
    if isinstance(edits, Problem):
        return edits
    if not edits:
        text = f"the patch of `{path}` changes nothing; take it out."
        return problem_at(line, text)
    return EditedFile(path, tuple(edits), line)


def _read_new(part: _Part, body: Rows) -> Change | Problem:
    text = []
    for row in body:
        if row.startswith((_HUNK, _NO_END)):
            continue
        if not row.startswith("+"):
            return _say_unsigned(part, "`+`")
        text.append(row[1:])
    return WholeFile(part.path, join_rows(text), part.line)


def _say_unsigned(part: _Part, signs: str) -> Problem:
    return problem_at(
        part.line,
        f"a line in the patch of `{part.path}` does not begin with {signs}.",
    )
