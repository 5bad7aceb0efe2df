"""Find the fenced blocks of an answer that name a file, however they are nested.

A block ends at the first bare fence of its own kind that is at least as long as its
opening fence, with these exceptions:

- A fence with a language inside the block opens a block of its own, which takes the
  next bare fence.
- In a Markdown or text file, bare fences that pair up belong to the file, and the last
  one closes the block. This applies only if an odd number of them follows before the
  next named block, and the line directly below the first one is text.
- Nothing between the marks of an edit's section closes the block.

A block that names no file is searched as well: it may be a fence around the whole
answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from agentos.documents.changes.block_names import BlockName, BlockNames
from agentos.documents.changes.markers import Verb, read_prose_marker
from agentos.documents.changes.model import Rows, UnnamedBlock
from agentos.documents.changes.sections import SEARCH, SectionMap, is_mark

MAX_FENCES = 20_000
WHOLE = "whole"
"""Word of an info string: what looks like sections of an edit is text of the file."""
_MAX_INDENT = 64
_FENCE = re.compile(r"([ \t]*+)(`{3,}+(?!.*`)|~{3,}+)(.*)", re.DOTALL)


class Fence(NamedTuple):
    """A line that opens or closes a block."""

    row: int
    mark: str
    length: int
    indent: int
    info: str

    def may_close(self, opening: Fence) -> bool:
        """Tell whether this fence, if it is bare, closes the block of another one."""
        return (
            self.mark == opening.mark
            and self.length >= opening.length
            and self.indent <= opening.indent + 3
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A named block; its text ends above the row `end`."""

    name: BlockName
    fence: Fence
    end: int
    is_closed: bool
    is_last: bool


class _OpenBlock(NamedTuple):
    """An unnamed block that is still open."""

    fence: Fence
    named_before: int
    """Number of named blocks above it."""


def read_fences(rows: Rows, candidates: Iterable[int]) -> list[Fence]:
    """Return the lines that may open or close a block."""
    fences = []
    for row in candidates:
        fence = _read_fence(row, rows[row])
        if fence:
            fences.append(fence)
    return fences


def _read_fence(row: int, text: str) -> Fence | None:
    match = _FENCE.fullmatch(text)
    if match is None:
        return None
    blank, marks, info = match.groups()
    indent = _MAX_INDENT
    if len(blank) <= _MAX_INDENT:
        indent = len(blank.expandtabs(4))
    return Fence(
        row=row,
        mark=marks[0],
        length=len(marks),
        indent=indent,
        info=info.strip(" \t\r"),
    )


class Layout:
    """The blocks of an answer, found in one walk over its fences.

    The rows between the fences are not read.
    """

    def __init__(self, rows: Rows, fences: list[Fence], sections: SectionMap) -> None:
        self.blocks: list[Block] = []
        self.unnamed: list[UnnamedBlock] = []
        self.covered = bytearray(len(rows))
        """One byte for each row: 1 if the row belongs to a block."""
        self._rows = rows
        self._fences = fences
        self._sections = sections
        self._names = BlockNames(rows)
        self._open: list[_OpenBlock] = []
        self._bare: list[int] = []
        self._bare_until = -1
        self._walk()

    def _walk(self) -> None:
        fences = self._fences
        index = 0
        while index < len(fences):
            fence = fences[index]
            name = self._name(fence)
            if self._closes_unnamed(fence, name):
                self._end_unnamed(fence.row + 1)
            elif name:
                index = self._read_block(index, name)
                continue
            elif fence.info or not self._open:
                opened = _OpenBlock(fence, len(self.blocks))
                self._open.append(opened)
            index += 1
        while self._open:
            self._end_unnamed(len(self._rows))

    def _name(self, fence: Fence) -> BlockName | None:
        return self._names.find(fence.row, fence.info)

    def _closes_unnamed(self, fence: Fence, name: BlockName | None) -> bool:
        if fence.info:
            return False
        if not self._open:
            return False
        innermost = self._open[-1]
        if not fence.may_close(innermost.fence):
            return False
        # A bare fence opens a file if a marker and text follow directly below it.
        below = fence.row + 1
        if name and name.row == below:
            return not self._is_text(below + 1)
        return True

    def _end_unnamed(self, end: int) -> None:
        fence, named_before = self._open.pop()
        if self._open:
            return
        if named_before != len(self.blocks):
            # This is only a wrapper around named blocks.
            return
        line = fence.row + 1
        text = "".join(self._rows[line:end])
        if text.strip():
            block = UnnamedBlock(line, fence.info[:80])
            self.unnamed.append(block)
        self._cover(fence.row, end)

    def _cover(self, start: int, end: int) -> None:
        size = len(self.covered[start:end])
        self.covered[start:end] = b"\x01" * size

    def _is_text(self, row: int) -> bool:
        """Tell whether a row is neither blank nor a fence."""
        text = self._names.row_at(row)
        if not text.strip():
            return False
        return _read_fence(row, text) is None

    def _read_block(self, index: int, name: BlockName) -> int:
        """Read the block that a fence opens, and return the index after it."""
        fence = self._fences[index]
        end, is_closed = self._find_end(index, name)
        is_last = end == len(self._fences)
        end_row = len(self._rows)
        if not is_last:
            end_row = self._fences[end].row
        block = Block(
            name=name,
            fence=fence,
            end=end_row,
            is_closed=is_closed,
            is_last=is_last,
        )
        self.blocks.append(block)
        self._cover(fence.row, end_row + is_closed)
        return end + is_closed

    def _find_end(self, index: int, name: BlockName) -> tuple[int, bool]:
        """Return the index of the fence that ends a block, and whether it closes it.

        The block is not closed where the next named block begins, or where the answer
        ends.
        """
        fences = self._fences
        opening = fences[index]
        is_edit = self._is_edit(opening, name)
        # The first row that is not part of a section.
        outside = name.start
        # The lengths of the fences that opened the blocks inside this one.
        inner: list[int] = []
        for end in range(index + 1, len(fences)):
            fence = fences[end]
            if not fence.may_close(opening):
                continue
            if is_edit:
                outside = self._sections.skip(outside, fence.row)
            if fence.row < outside:
                continue
            if fence.info:
                # In code, a fence that names a file means that this block was never
                # closed. A Markdown file may quote such a block, so there it nests.
                if not name.is_prose and self._name(fence):
                    return end, False
                inner.append(fence.length)
            elif inner:
                if fence.length >= inner[-1]:
                    inner.pop()
            elif name.is_prose and self._opens_pair(end):
                inner.append(fence.length)
            else:
                return end, True
        return len(fences), False

    def _is_edit(self, fence: Fence, name: BlockName) -> bool:
        if name.verb is Verb.EDIT:
            return True
        if WHOLE in fence.info:
            return False
        start = name.start
        for row in self._rows[start : start + 3]:
            text = row.strip()
            if text:
                return is_mark(text, SEARCH)
        return False

    def _opens_pair(self, index: int) -> bool:
        """Tell whether a bare fence in a prose file opens a block of that file."""
        fence = self._fences[index]
        below = fence.row + 1
        if not self._is_text(below):
            return False
        if read_prose_marker(self._rows[below]):
            return False
        # Counting anew for each fence would take quadratic time.
        if index > self._bare_until:
            self._find_bare(index)
        # An odd number leaves one fence to close the block after all pairs.
        before = bisect_left(self._bare, index)
        left = len(self._bare) - before
        is_odd = left % 2 == 1
        return is_odd and left >= 3

    def _find_bare(self, start: int) -> None:
        """Find the bare fences up to the next named block, and where that begins.

        Fences that close a block with a language do not count.
        """
        fences = self._fences
        opening = fences[start]
        depth = 0
        self._bare = []
        self._bare_until = len(fences)
        for index in range(start, len(fences)):
            fence = fences[index]
            if fence.mark != opening.mark:
                continue
            if fence.info:
                if self._name(fence):
                    self._bare_until = index
                    break
                depth += 1
            elif depth:
                depth -= 1
            else:
                self._bare.append(index)
