"""Find the file that a fenced block names: inside it, in its info string or above it."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.documents.changes.markers import (
    Marker,
    Verb,
    read_comment_marker,
    read_comment_reason,
    read_info_path,
    read_prose_marker,
    read_prose_reason,
)
from agentos.documents.changes.model import Rows

_PROSE_FILES = (
    ".md",
    ".markdown",
    ".mdx",
    ".rst",
    ".txt",
    ".adoc",
    ".qmd",
    ".rmd",
    ".j2",
    ".jinja",
    ".tmpl",
)
_PREAMBLES = ("#!", "<?", "<!doctype", "# -*-")


@dataclass(frozen=True, slots=True)
class BlockName:
    """The file that a block names, and the row where the text of the file begins."""

    verb: Verb
    path: str
    note: str
    row: int
    """The row of the marker."""
    start: int
    preamble: tuple[str, ...]
    """Rows before the marker that belong to the file, such as `#!/bin/sh`."""
    reason: str
    above: int
    """The row of a marker above the fence, -1 if there is none."""
    other: str
    """A different path that the block names as well."""

    @property
    def is_prose(self) -> bool:
        """Tell whether the file may well contain fences."""
        return self.path.casefold().endswith(_PROSE_FILES)


@dataclass(frozen=True, slots=True)
class _Place:
    """A marker inside or above a block, with its row and the lines next to it."""

    marker: Marker | None = None
    row: int = -1
    preamble: tuple[str, ...] = ()
    reason: str = ""


class BlockNames:
    """The names of the blocks of an answer."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._names: dict[int, BlockName | None] = {}

    def find(self, fence: int, info: str) -> BlockName | None:
        """Return the name of the block that a fence would open.

        `fence` is its row and `info` its info string.
        """
        if fence not in self._names:
            self._names[fence] = self._find(fence, info)
        return self._names[fence]

    def row_at(self, row: int) -> str:
        """Return a row, empty after the end of the answer."""
        if row < len(self._rows):
            return self._rows[row]
        return ""

    def _find(self, fence: int, info: str) -> BlockName | None:
        above = self._look_above(fence)
        inside = self._look_inside(fence)
        above_path = above.marker.path if above.marker else ""
        info_path = read_info_path(info).removeprefix("./")
        start = fence + 1
        reason = other = ""
        if inside.marker:
            start, reason = self._skip_reason(inside.row + 1)
        elif read_comment_reason(self.row_at(start)) is not None:
            start, reason = self._skip_reason(start)
        # The nearest name counts; a different one further out is kept as a conflict.
        if inside.marker:
            marker = inside.marker
            row = inside.row
            outer_path = info_path or above_path
            if outer_path != marker.path:
                other = outer_path
        elif above.marker and info_path in ("", above_path):
            marker = above.marker
            row = above.row
        elif info_path:
            marker = Marker(Verb.FILE, info_path)
            row = fence
            other = above_path
        else:
            return None
        return BlockName(
            verb=marker.verb,
            path=marker.path,
            note=marker.note,
            row=row,
            start=start,
            preamble=inside.preamble,
            reason=reason or above.reason,
            above=above.row,
            other=other,
        )

    def _look_inside(self, fence: int) -> _Place:
        """Return the marker in the first rows of a block."""
        row = fence + 1
        for _ in range(2):
            if not self.row_at(row).strip():
                row += 1
        preamble: tuple[str, ...] = ()
        first = self.row_at(row)
        if first.lstrip().casefold().startswith(_PREAMBLES):
            preamble = (first,)
            row += 1
        marker = read_comment_marker(self.row_at(row))
        if marker is None:
            return _Place()
        return _Place(marker, row, preamble)

    def _skip_reason(self, start: int) -> tuple[int, str]:
        """Return the row after a reason and one blank row, and the reason."""
        reason = read_comment_reason(self.row_at(start))
        if reason is not None:
            start += 1
        if start < len(self._rows) and not self._rows[start].strip(" \t\r"):
            start += 1
        return start, reason or ""

    def _look_above(self, fence: int) -> _Place:
        """Return the marker above a fence, and a reason between them or alone."""
        row = fence - 1
        if row >= 0 and not self._rows[row].strip():
            row -= 1
        if row < 0:
            return _Place()
        reason = read_prose_reason(self._rows[row])
        if reason is not None:
            row -= 1
        marker = None
        if row >= 0:
            marker = read_prose_marker(self._rows[row])
        if marker is None:
            return _Place(reason=reason or "")
        if marker.verb is Verb.DELETE:
            return _Place()
        return _Place(marker, row, reason=reason or "")
