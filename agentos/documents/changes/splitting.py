"""Split a block in which a model has put several files, one below the other.

Between the sections of an edit, any line that names a file begins the next one. Within
the text of a whole file, such a line may be a comment: it counts only in the first
column, outside of strings, and if the file is one that the answer may mean, or has a
reason or a section below.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from agentos.documents.changes.block_names import BlockName
from agentos.documents.changes.fences import WHOLE, Block, Layout
from agentos.documents.changes.markers import (
    Marker,
    Verb,
    read_comment_marker,
    read_prose_reason,
)
from agentos.documents.changes.matching import is_blank
from agentos.documents.changes.model import Rows
from agentos.documents.changes.python_strings import is_string_open
from agentos.documents.changes.sections import SEARCH, SectionMap, loose_length

_PYTHON = (".py", ".pyi")
_MOST_READ = 20
"""Maximum number of times that the text of a block is read for its strings."""


@dataclass(frozen=True, slots=True)
class Splitter:
    """What is known about an answer whose blocks are split."""

    rows: Rows
    candidates: Sequence[int]
    """The rows that may name a file, in order."""
    layout: Layout
    sections: SectionMap
    expected: Collection[str]

    def split(self, block: Block) -> Iterator[Block]:
        """Yield the block of each file."""
        name = block.name
        is_whole = WHOLE in block.fence.info.split()
        if name.other or block.is_ambiguous or is_whole:
            yield block
            return
        for following in self._find_names(block):
            yield replace(
                block,
                name=name,
                end=self._end_above(following),
                is_closed=True,
            )
            name = following
        yield replace(block, name=name)

    def _end_above(self, name: BlockName) -> int:
        """Return the row after the text above a name."""
        end = name.row
        while is_blank(self.rows[end - 1]):
            end -= 1
        return end

    def _find_names(self, block: Block) -> Iterator[BlockName]:
        name = block.name
        outside = name.start
        first = bisect_left(self.candidates, outside)
        last = bisect_left(self.candidates, block.end)
        count = 0
        for row in self.candidates[first:last]:
            has_sections = self._has_sections(name)
            if has_sections:
                outside = self.sections.skip(outside, row)
            if row < outside:
                continue
            marker = self._read_marker(name, row)
            if marker is None:
                continue
            if not has_sections:
                if not self._may_begin(marker, row, block.end):
                    continue
                count += 1
                if count > _MOST_READ or self._is_in_text(name, row):
                    continue
            name = self.layout.name_at(marker, row)
            outside = name.start
            yield name

    def _read_marker(self, name: BlockName, row: int) -> Marker | None:
        marker = read_comment_marker(self.rows[row])
        if marker is None or not marker.has_colon:
            return None
        if marker.path == name.path:
            return None
        return marker

    def _has_sections(self, name: BlockName) -> bool:
        if name.verb is not Verb.FILE:
            return True
        return self._is_section(name.start)

    def _is_section(self, row: int) -> bool:
        first = self._first_written(row)
        return loose_length(first, SEARCH) > 0

    def _first_written(self, start: int) -> str:
        end = start + 3
        for row in self.rows[start:end]:
            if not is_blank(row):
                return row
        return ""

    def _may_begin(self, marker: Marker, row: int, end: int) -> bool:
        """Tell whether a line in the text of a file may begin another file."""
        below = row + 1
        if self.rows[row][:1].isspace():
            return False
        if marker.verb is Verb.DELETE:
            is_last = all(map(is_blank, self.rows[below:end]))
            return is_last and "." in marker.path
        if marker.path in self.expected or self._is_section(below):
            return True
        first = self._first_written(below)
        return read_prose_reason(first) is not None

    def _is_in_text(self, name: BlockName, row: int) -> bool:
        """Tell whether a line is quoted in a document or a string."""
        if name.is_prose:
            return True
        if not name.path.endswith(_PYTHON):
            return False
        above = self.rows[name.start : row]
        text = "\n".join(above)
        return is_string_open(text)
