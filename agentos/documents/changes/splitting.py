"""Split a block in which a model has put several files, one below the other.

Between the sections of an edit, any line that names a file begins the next one. Within
the text of a whole file, such a line may be a comment: it counts only in the first
column, and if the file is one that the answer may mean, or has a reason or a section
below.
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

_MOST = 50
"""Maximum number of lines in a block that are looked at closely."""


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
        names = [name]
        is_whole = WHOLE in block.fence.info.split()
        if not (name.other or block.is_ambiguous or is_whole):
            names += self._find_names(block)
        ends = [self._end_above(following) for following in names[1:]]
        ends.append(block.end)
        last = names[-1]
        for one, end in zip(names, ends, strict=True):
            is_closed = one is not last or block.is_closed
            yield replace(block, name=one, end=end, is_closed=is_closed)

    def _end_above(self, name: BlockName) -> int:
        """Return the row after the text above a name."""
        end = name.row
        while is_blank(self.rows[end - 1]):
            end -= 1
        return end

    def _find_names(self, block: Block) -> Iterator[BlockName]:
        name = block.name
        outside = name.start
        first = bisect_left(self.candidates, name.start)
        for row in self.candidates[first : first + _MOST]:
            if row >= block.end:
                break
            if self._holds_sections(name):
                outside = self.sections.skip(outside, row)
            if row < outside:
                continue
            marker = read_comment_marker(self.rows[row])
            if marker is None or marker.path == name.path or not marker.has_colon:
                continue
            if self._begins_file(name, marker, row, block.end):
                name = self.layout.name_at(marker, row)
                outside = name.start
                yield name

    def _holds_sections(self, name: BlockName) -> bool:
        if name.verb is Verb.EDIT:
            return True
        return self._is_section(name.start)

    def _is_section(self, row: int) -> bool:
        first = self._first_written(row)
        return loose_length(first, SEARCH) > 0

    def _first_written(self, start: int) -> str:
        for row in self.rows[start : start + 3]:
            if not is_blank(row):
                return row
        return ""

    def _begins_file(
        self, name: BlockName, marker: Marker, row: int, end: int
    ) -> bool:
        if name.verb is Verb.DELETE or self._holds_sections(name):
            return True
        if name.is_prose or self.rows[row][:1].isspace():
            return False
        if name.path.endswith((".py", ".pyi")):
            text = "\n".join(self.rows[name.start : row])
            if is_string_open(text):
                return False
        if marker.verb is Verb.DELETE and "." in marker.path:
            return all(map(is_blank, self.rows[row + 1 : end]))
        if marker.path in self.expected:
            return True
        below = self._first_written(row + 1)
        return read_prose_reason(below) is not None or self._is_section(row + 1)
