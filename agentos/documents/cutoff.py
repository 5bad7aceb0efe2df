"""Tell whether a document is cut off."""

from __future__ import annotations

from agentos.documents.markdown import (
    LineKind,
    Lines,
    first_of_block,
    last_written,
    open_fence,
)
from agentos.documents.tables import split_row

Cut = tuple[int, str]
"""A line, and why the document seems to end there."""


def find_cut(text: str, lines: Lines, outer_fence: int) -> Cut | None:
    """Return where and why a document seems to be cut off, or None.

    `outer_fence` is the line of an unclosed fence around the whole document, else 0.
    """
    if outer_fence:
        return outer_fence, "the fence around the document is never closed"
    opening = open_fence(lines)
    if opening is not None:
        return opening.number, "this code block is never closed"
    last = last_written(lines)
    if last and last.kind is LineKind.COMMENT:
        _, _, comment = text.rpartition("<!--")
        if "-->" not in comment:
            return last.block, "this comment is never closed"
    row = find_cut_row(lines)
    if row:
        return row, "the last row of the last table ends in the middle"
    return None


def find_cut_row(lines: Lines) -> int:
    """Return the line of a last table row that seems to be cut off, or 0."""
    last = last_written(lines)
    if last is None or not last.is_row:
        return 0
    is_header = last.number <= last.block + 1
    if is_header:
        return 0
    header = first_of_block(lines, last).text.strip()
    if not header.endswith("|"):
        return 0
    row = last.text.strip()
    if row.endswith("|") or not row.startswith("|"):
        return 0
    cells = split_row(row)
    # A row that is too long is malformed, not cut off.
    if len(cells) > len(split_row(header)):
        return 0
    return last.number
