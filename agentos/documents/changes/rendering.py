"""Write changes as an answer that `parse_changes` reads back as equal changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.documents.changes.fences import WHOLE
from agentos.documents.changes.languages import language_of
from agentos.documents.changes.markers import (
    read_comment_marker,
    read_prose_reason,
    split_note,
    split_reason,
)
from agentos.documents.changes.model import (
    Change,
    Changes,
    Deletion,
    EditedFile,
    WholeFile,
)
from agentos.documents.changes.parse import NO_FINAL_NEWLINE
from agentos.documents.changes.sections import (
    DIVIDER,
    MIN_LENGTH,
    REPLACE,
    SEARCH,
    holds_section,
    make_mark,
    mark_length,
)


def render_changes(changes: Changes | Iterable[Change]) -> str:
    """Write each change as a block, in fences longer than any inside.

    A block that was cut off is left open.
    """
    listed = changes.changes if isinstance(changes, Changes) else changes
    blocks = []
    for change in listed:
        blocks.append(_render(change))
        if isinstance(change, WholeFile) and change.edits:
            edited = EditedFile(change.path, change.edits, is_cut=change.is_cut)
            blocks.append(_render(edited))
    return "\n".join(blocks)


def _render(change: Change) -> str:
    path = _quote(change.path)
    if isinstance(change, Deletion):
        text = f"# Delete: {path}\n"
        if change.reason:
            text += f"Reason: {change.reason}\n"
        return text
    info = language_of(change.path)
    if isinstance(change, EditedFile):
        rows: list[str] = []
        for edit in change.edits:
            rows += _section(edit.search, edit.replace)
        return _fence(change, f"# Edit: {path}", rows, info)
    rows = change.text.split("\n")
    if rows[-1]:
        info += f" {NO_FINAL_NEWLINE}"
    else:
        rows.pop()
    if not change.is_sure:
        return _fence(change, f"# Edit: {path}", rows, info)
    if holds_section(rows) or any(map(read_comment_marker, rows)):
        info += f" {WHOLE}"
    return _fence(change, f"# File: {path}", rows, info)


def _fence(
    change: WholeFile | EditedFile, marker: str, rows: Sequence[str], info: str
) -> str:
    # The reader takes a reason and one blank line below the marker out of the text: a
    # text that begins with either gets another one in front.
    head = [marker]
    if change.reason or (rows and read_prose_reason(rows[0]) is not None):
        head.append(f"# Reason: {change.reason}".rstrip())
    if rows and not rows[0].strip(" \t\r"):
        head.append("")
    longest = max(map(_count_backticks, rows), default=0)
    fence = "`" * max(3, longest + 1)
    lines = [f"{fence}{info}", *head, *rows]
    if not change.is_cut:
        lines.append(fence)
    return "\n".join(lines) + "\n"


def _section(search: str, replace: str) -> list[str]:
    old = search.split("\n")[:-1]
    new = replace.split("\n")[:-1]
    length = MIN_LENGTH
    for row in [*old, *new]:
        for kind in (SEARCH, DIVIDER, REPLACE):
            length = max(length, mark_length(row, kind) + 1)
    return [
        make_mark(SEARCH, length),
        *old,
        make_mark(DIVIDER, length),
        *new,
        make_mark(REPLACE, length),
    ]


def _count_backticks(row: str) -> int:
    bare = row.lstrip(" \t")
    return len(bare) - len(bare.lstrip("`"))


def _quote(path: str) -> str:
    if split_note(path) == split_reason(path) == (path, ""):
        return path
    return f"`{path}`"
