"""Find the file that a fenced block names: inside it, in its info string or above it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from agentos.documents.changes.languages import fits_language
from agentos.documents.changes.markers import (
    Marker,
    Verb,
    is_sentence,
    is_title,
    lone_path,
    mentioned_path,
    read_comment_marker,
    read_info_path,
    read_prose_marker,
    read_prose_reason,
)
from agentos.documents.changes.model import Rows
from agentos.documents.changes.sections import SEARCH, loose_length

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
_DIFFS = frozenset({"diff", "patch", "udiff"})
_MAX_HEADER = 6
_MAX_PROSE = 6
_PREAMBLES = ("#!", "<?", "<!doctype", "# -*-")


def is_prose(path: str) -> bool:
    """Tell whether a file is a document, which may well contain fences."""
    return path.casefold().endswith(_PROSE_FILES)


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
    is_sure: bool = True
    """Whether a marker or an info string names the file, not just its path nearby."""

    @property
    def is_prose(self) -> bool:
        """Tell whether the file may well contain fences."""
        return is_prose(self.path)


@dataclass(frozen=True, slots=True)
class _Place:
    """A marker inside or above a block, with its row and the lines next to it."""

    marker: Marker | None = None
    row: int = -1
    preamble: tuple[str, ...] = ()
    reason: str = ""


class BlockNames:
    """The names of the blocks of an answer."""

    def __init__(self, rows: Rows, expected: Collection[str] = ()) -> None:
        self._rows = rows
        self._expected = expected
        self._names: dict[int, BlockName | None] = {}

    def find(self, fence: int, info: str) -> BlockName | None:
        """Return the name of the block that a fence would open.

        `fence` is its row and `info` its info string.
        """
        if fence not in self._names:
            self._names[fence] = self._find(fence, info)
        return self._names[fence]

    def make_up(self, path: str, fence: int) -> BlockName:
        """Return a name for a block that has none."""
        start = fence + 1
        reason = None
        if read_prose_reason(self.row_at(start)) is not None:
            start, reason = self._skip_reason(start)
        return BlockName(
            verb=Verb.FILE,
            path=path,
            note="",
            row=fence,
            start=start,
            preamble=(),
            reason=reason or "",
            above=-1,
            other="",
            is_sure=False,
        )

    def row_at(self, row: int) -> str:
        """Return a row, empty after the end of the answer."""
        if row < len(self._rows):
            return self._rows[row]
        return ""

    def _find(self, fence: int, info: str) -> BlockName | None:
        above = self._look_above(fence)
        inside = self._look_inside(fence)
        above_path = above.marker.path if above.marker else ""
        info_path = read_info_path(info)
        start = fence + 1
        reason = other = ""
        if inside.marker:
            start, reason = self._skip_reason(inside.row + 1)
        elif read_prose_reason(self.row_at(start)) is not None:
            start, reason = self._skip_reason(start)
        outer_path = info_path or above_path
        if _is_comment(inside.marker, outer_path):
            inside = _Place()
            start = fence + 1
        # The nearest name counts; a different one further out is kept as a conflict.
        if inside.marker:
            marker = inside.marker
            row = inside.row
            if outer_path != marker.path:
                other = outer_path
        elif above.marker and info_path in ("", above_path):
            marker = above.marker
            row = above.row
        elif info_path:
            marker = Marker(Verb.FILE, info_path)
            row = fence
            other = above_path
        elif self._expected:
            return self._guess(fence, info, start, reason or above.reason)
        else:
            return None
        return BlockName(
            verb=marker.verb,
            path=marker.path,
            note=marker.note,
            row=row,
            start=start,
            preamble=inside.preamble,
            reason=reason or marker.reason or inside.reason or above.reason,
            above=above.row,
            other=other,
        )

    def _guess(
        self, fence: int, info: str, start: int, reason: str
    ) -> BlockName | None:
        """Return the expected file whose path stands where a name could be."""
        first = self.row_at(start)
        row = fence
        verb = Verb.FILE
        if info.partition(" ")[0].casefold() in _DIFFS:
            verb = Verb.EDIT
            if self._has_header(start):
                # `patches.py` reads a diff that names its files.
                return None
        path = mentioned_path(info, self._expected)
        if not path:
            path = lone_path(first, self._expected)
            marker = self._read_plain_marker(first, info)
            if marker:
                path = marker.path
                verb = marker.verb
            if path:
                row = start
                start, said = self._skip_reason(start + 1)
                reason = said or reason
        if not path:
            row, path = self._guess_above(fence, start)
        if not path:
            return None
        return BlockName(
            verb=verb,
            path=path,
            note="",
            row=row,
            start=start,
            preamble=(),
            reason=reason,
            above=row if row < fence else -1,
            other="",
            is_sure=False,
        )

    def _read_plain_marker(self, first: str, info: str) -> Marker | None:
        """Return the marker of an expected file without a comment sign."""
        marker = read_prose_marker(first)
        if marker is None or marker.path not in self._expected:
            return None
        language = info.partition(" ")[0].casefold()
        if marker.verb is Verb.FILE and not fits_language(marker.path, language):
            # A row such as `file: src/a.py` of a YAML file is text.
            return None
        return marker

    def _guess_above(self, fence: int, start: int) -> tuple[int, str]:
        """Return the row above a fence that consists of a path, and the path; above the
        sections of an edit it may be a sentence.
        """
        row = fence - 1
        while row >= max(0, fence - 4):
            text = self.row_at(row)
            if text.strip() and read_prose_reason(text) is None:
                break
            row -= 1
        if row < 0:
            return row, ""
        text = self.row_at(row)
        path = lone_path(text, self._expected)
        is_section = loose_length(self.row_at(start), SEARCH) > 0
        if not path and (is_section or is_title(text)):
            path = mentioned_path(text, self._expected)
        return row, path

    def _has_header(self, start: int) -> bool:
        """Tell whether a diff names its file."""
        for row in range(start, start + _MAX_HEADER):
            if self.row_at(row).startswith("+++ "):
                return True
        return False

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
        reason = read_prose_reason(self.row_at(row)) or ""
        if reason and read_comment_marker(self.row_at(row + 1)):
            row += 1
        marker = read_comment_marker(self.row_at(row))
        if marker is None and not preamble:
            row = self._skip_prose(row)
            marker = read_comment_marker(self.row_at(row))
        if marker is None:
            return _Place()
        return _Place(marker, row, preamble, reason)

    def _skip_prose(self, row: int) -> int:
        """Return the row after a few sentences and blank rows."""
        for _ in range(_MAX_PROSE):
            text = self.row_at(row)
            if text.strip() and not is_sentence(text):
                break
            row += 1
        return row

    def name_at(self, marker: Marker, row: int) -> BlockName:
        """Return the name that a marker further down in a block gives to what follows."""
        start, reason = self._skip_reason(row + 1)
        return BlockName(
            verb=marker.verb,
            path=marker.path,
            note=marker.note,
            row=row,
            start=start,
            preamble=(),
            reason=reason or marker.reason,
            above=-1,
            other="",
        )

    def _skip_reason(self, start: int) -> tuple[int, str]:
        """Return the row after a reason and one blank row, and the reason."""
        reason = read_prose_reason(self.row_at(start))
        if reason is not None:
            start += 1
        if start < len(self._rows) and not self._rows[start].strip(" \t\r"):
            start += 1
        return start, reason or ""

    def _look_above(self, fence: int) -> _Place:
        """Return the marker above a fence, and a reason between them, above both or
        alone.
        """
        row = self._skip_blank(fence - 1)
        if row < 0:
            return _Place()
        reason = self._read_reason_above(row, fence)
        if reason is not None:
            row = self._skip_blank(row - 1)
        marker = None
        if row >= 0:
            marker = read_prose_marker(self._rows[row])
        if marker is None:
            return _Place(reason=reason or "")
        if marker.verb is Verb.DELETE:
            return _Place()
        if reason is None:
            reason = self._read_reason_above(self._skip_blank(row - 1), row)
        return _Place(marker, row, reason=reason or "")

    def _skip_blank(self, row: int) -> int:
        """Return the row above if this one is blank."""
        if row >= 0 and not self._rows[row].strip():
            return row - 1
        return row

    def _read_reason_above(self, row: int, below: int) -> str | None:
        """Return the reason in a row above another one, unless it stands directly
        below the block before and so belongs to that.
        """
        if row < 0:
            return None
        reason = read_prose_reason(self._rows[row])
        if reason is None or row + 1 == below or row == 0:
            return reason
        if self._rows[row - 1].strip(" \t\r~`"):
            return reason
        return reason if not self._rows[row - 1].strip() else None

    def reason_below(self, end: int) -> str:
        """Return the reason below the fence that ends a block, if it is not for what
        follows.
        """
        row = end + 1
        if not self.row_at(row).strip():
            row += 1
        reason = read_prose_reason(self.row_at(row))
        if reason is None or self.row_at(row + 1).strip():
            return ""
        return reason


def _is_comment(marker: Marker | None, outer_path: str) -> bool:
    """Tell whether a line such as `# Edit conf.toml` is text, as the file has a name."""
    if marker is None or marker.has_colon or not outer_path:
        return False
    return marker.path != outer_path
