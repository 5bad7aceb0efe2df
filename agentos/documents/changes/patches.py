"""Read patches of several files that name each file in a line of their own.

There are two forms: `*** Update File: path` between `*** Begin Patch` and `*** End Patch`,
and the output of `git diff`. The line numbers of hunks do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from agentos.documents.changes.diffs import path_in_header, read_diff
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
_MOVE = "*** Move to:"
_END_OF_FILE = "*** End of File"
_ENDS = ("*** End Patch", "*** Begin Patch", "diff --git ", "```", "~~~")
_NOWHERE = "/dev/null"
PATCH_SIGNS = (*_NAMES, "--- ")
"""What the rows that name a file begin with."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a patch that change one file."""

    row: int
    path: str
    kind: str
    rows: Rows
    is_certain: bool = False


def read_patches(
    rows: Rows,
    candidates: Iterable[int],
    taken: bytes | bytearray,
    expected: Collection[str],
) -> Iterator[tuple[int, Change | Problem]]:
    """Yield the row and the change of each file in patches outside named blocks.

    A diff of other files than the expected ones is an illustration.
    """
    parts = []
    starts = []
    for row in candidates:
        if not taken[row] and (_is_name(rows[row]) or _is_header(rows, row)):
            starts.append(row)
    for start, after in pairwise([*starts, len(rows)]):
        end = start + 1
        while end < after and not taken[end] and not rows[end].startswith(_ENDS):
            end += 1
        part = _read_part(rows, start, end)
        parts.append(part)
    is_meant = any(part.is_certain or part.path in expected for part in parts)
    for part in parts if is_meant else ():
        yield part.row, _read(part)


def _is_name(row: str) -> bool:
    return row.startswith(_NAMES)


def _is_header(rows: Rows, row: int) -> bool:
    """Tell whether a row is the `--- a/path` of a file in a diff."""
    below = row + 1
    if not rows[row].startswith("--- ") or below + 1 >= len(rows):
        return False
    return rows[below].startswith("+++ ") and rows[below + 1].startswith("@@")


def _read_part(rows: Rows, start: int, end: int) -> _Part:
    first = rows[start]
    if not first.startswith("---"):
        kind = next(name for name in _NAMES if first.startswith(name))
        path, _ = split_note(first.removeprefix(kind))
        return _Part(start, path, kind, rows[start + 1 : end], is_certain=True)
    below = start + 1
    old = path_in_header(first)
    new = path_in_header(rows[below])
    kind = _UPDATE
    if _NOWHERE in (old, new):
        kind = _ADD if old == _NOWHERE else _DELETE
    path = old if kind == _DELETE else new
    return _Part(start, path, kind, rows[below + 1 : end])


def _read(part: _Part) -> Change | Problem:
    line = part.row + 1
    if part.kind == _DELETE:
        return Deletion(part.path, line)
    body = [row for row in part.rows if not row.startswith(_END_OF_FILE)]
    while body and is_blank(body[-1]):
        body.pop()
    if any(row.startswith(_MOVE) for row in body):
        text = f"the patch moves `{part.path}`; send the new file whole, and delete it."
        return problem_at(line, text)
    if part.kind == _ADD:
        return _read_new(part, body)
    edits = read_diff(body, line + 1)
    if isinstance(edits, Problem):
        return edits
    if not edits or not all(map(_is_signed, body)):
        text = f"the patch of `{part.path}` has no hunk that can be read."
        return problem_at(line, text)
    return EditedFile(part.path, tuple(edits), line)


def _is_signed(row: str) -> bool:
    return is_blank(row) or row.startswith(("+", "-", " ", "@@", "\\"))


def _read_new(part: _Part, body: Rows) -> Change | Problem:
    text = [row for row in body if not row.startswith(("@@", "\\"))]
    if not all(row.startswith("+") for row in text):
        shown = f"a line of the new file `{part.path}` begins without `+`; add it."
        return problem_at(part.row + 1, shown)
    bare = [row[1:] for row in text]
    return WholeFile(part.path, join_rows(bare), part.row + 1)
