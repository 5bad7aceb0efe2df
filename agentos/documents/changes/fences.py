"""Find the fenced blocks of an answer that name a file, however they are nested.

A block ends at the first bare fence of its own kind that is at least as long as its
opening fence, with these exceptions:

- A fence with a language inside the block opens a block of its own, which takes the
  next bare fence.
- Nothing between the marks of an edit's section closes the block.

Where the text goes on below such a fence and more fences follow, the block could as well
end at one of those. It is ambiguous then, and counts up to the next named block, so that
no part of it is read as anything else.

A block that names no file is searched as well: it may be a fence around the whole
answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from agentos.documents.changes.block_names import BlockName, BlockNames
from agentos.documents.changes.languages import fits_language
from agentos.documents.changes.markers import (
    Marker,
    Verb,
    read_prose_marker,
    read_prose_reason,
)
from agentos.documents.changes.model import Rows, UnnamedBlock
from agentos.documents.changes.python_strings import are_paired, is_string_open
from agentos.documents.changes.sections import SEARCH, SectionMap, loose_length

MAX_FENCES = 20_000
WHOLE = "whole"
"""Word of an info string: what looks like sections of an edit is text of the file."""
_MAX_INDENT = 64
_PYTHON = (".py", ".pyi")
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
    is_ambiguous: bool = False
    """Whether the block may as well end at another fence."""
    is_alone: bool = True
    """Whether no fence that could end the block follows before the next one."""


class _OpenBlock(NamedTuple):
    """An unnamed block that is still open."""

    fence: Fence
    named_before: int
    """Number of named blocks above it."""


def read_fences(
    rows: Rows,
    candidates: Iterable[int],
) -> list[Fence]:
    """Return the lines that may open or close a block."""
    fences = []
    for row in candidates:
        fence = _read_fence(row, rows[row])
        if fence:
            fences.append(fence)
    return fences


def _read_fence(
    row: int,
    text: str,
) -> Fence | None:
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

    def __init__(
        self,
        rows: Rows,
        fences: list[Fence],
        sections: SectionMap,
        expected: Collection[str] = (),
    ) -> None:
        self.blocks: list[Block] = []
        self.unnamed: list[UnnamedBlock] = []
        self.lone: list[tuple[Fence, int]] = []
        """The opening fence of each unnamed block, and the row where it ends."""
        self.covered = bytearray(len(rows))
        """One byte for each row: 1 if the row belongs to a block."""
        self.taken = bytearray(len(rows))
        """The same for what is read as the text or the edit of a file."""
        self._rows = rows
        self._fences = fences
        self._sections = sections
        self._names = BlockNames(rows, expected)
        self._open: list[_OpenBlock] = []
        self._walk()

    def name_lone(self, path: str) -> Block | None:
        """Return the only unnamed block as the block of a file, unless its language is
        that of other files.
        """
        fence, end = self.lone[0]
        language = fence.info.partition(" ")[0].casefold()
        if not fits_language(path, language):
            return None
        is_closed = end < len(self._rows)
        if not is_closed:
            is_closed = self._closes_last(fence)
        self.take(fence.row, end)
        name = self._names.make_up(path, fence.row)
        return Block(
            name=name,
            fence=fence,
            end=end - is_closed,
            is_closed=is_closed,
            is_last=True,
        )

    def take(self, start: int, end: int) -> None:
        """Note that rows are read as a file's."""
        _set(self.taken, start, end)

    def _closes_last(self, opening: Fence) -> bool:
        """Tell whether the last row is the fence that closes a block."""
        last = self._fences[-1]
        below = last.row + 1
        if below < len(self._rows) or last.row == opening.row:
            return False
        return last.may_close(opening)

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

    def _is_named(self, fence: Fence) -> bool:
        """Tell whether a fence says for certain that it opens a file."""
        name = self._name(fence)
        return name is not None and name.is_sure

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
            self.lone.append((fence, end))
        _set(self.covered, fence.row, end)

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
        following: list[int] = []
        if is_closed:
            following = self._find_following(fence, end + 1)
        is_ambiguous = self._divides_strings(index, end, name)
        if following and not self._is_edit(fence, name):
            closing = self._fences[end]
            is_ambiguous = self._is_ambiguous(name, closing.row, following)
        if is_ambiguous:
            end = self._find_next(end + 1)
            is_closed = False
        is_last = end == len(self._fences)
        end_row = self._row_of(end)
        if is_closed and not name.reason:
            reason = self._names.reason_below(end_row)
            name = replace(name, reason=reason)
        block = Block(
            name=name,
            fence=fence,
            end=end_row,
            is_closed=is_closed,
            is_last=is_last,
            is_ambiguous=is_ambiguous,
            is_alone=not following,
        )
        self.blocks.append(block)
        _set(self.covered, fence.row, end_row + is_closed)
        self.take(fence.row, end_row)
        return end + is_closed

    def _divides_strings(
        self,
        index: int,
        end: int,
        name: BlockName,
    ) -> bool:
        """Tell whether fences in a Python file pair up across its strings."""
        if not name.path.endswith(_PYTHON) or self._is_edit(self._fences[index], name):
            return False
        opening = self._fences[index]
        start = name.start
        fences = self._fences[index + 1 : end]
        inner = [one.row - start for one in fences if one.may_close(opening)]
        if not inner:
            return False
        last = self._row_of(end)
        rows = self._rows[start:last]
        text = "\n".join(rows)
        return not are_paired(text, inner)

    def _row_of(self, index: int) -> int:
        """Return the row of a fence, or the end of the answer."""
        if index < len(self._fences):
            return self._fences[index].row
        return len(self._rows)

    def name_at(self, marker: Marker, row: int) -> BlockName:
        """Return the name that a marker further down in a block gives."""
        return self._names.name_at(marker, row)

    def _find_next(self, start: int) -> int:
        """Return the index of the next fence that names a file."""
        for index in range(start, len(self._fences)):
            if self._is_named(self._fences[index]):
                return index
        return len(self._fences)

    def _find_following(self, opening: Fence, start: int) -> list[int]:
        """Return the rows of the bare fences up to the next named block.

        Those that close a block with a language, or the block around all, do not count.
        """
        depth = 0
        bare: list[int] = []
        for index in range(start, len(self._fences)):
            fence = self._fences[index]
            if self._name(fence):
                break
            if not fence.may_close(opening):
                continue
            if fence.info:
                depth += 1
            elif depth:
                depth -= 1
            else:
                bare.append(fence.row)
        else:
            # The fences around the whole answer are closed at its end.
            left = len(bare) - len(self._open)
            return bare[: max(0, left)]
        return bare

    def _is_ambiguous(
        self,
        name: BlockName,
        end: int,
        following: list[int],
    ) -> bool:
        """Tell whether the text of a file may go on below the fence that ends it."""
        if name.path.endswith(_PYTHON):
            # Only a string can hold a fence.
            start = name.start
            text = "\n".join(self._rows[start:end])
            return is_string_open(text)
        after = end + 1
        below = self._names.row_at(after).rstrip()
        is_text = self._is_text(after)
        if read_prose_marker(below) or read_prose_reason(below) is not None:
            is_text = False
        if not name.is_prose:
            return is_text and not below.endswith((":", "."))
        first = following[0]
        between = self._rows[after:first]
        if is_text or not any(map(str.strip, between)):
            return is_text
        if len(following) % 2:
            return True
        above = self._rows[max(0, end - 2) : end]
        return any(row.rstrip().endswith(":") for row in above)

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
                if not name.is_prose and self._is_named(fence):
                    return end, False
                inner.append(fence.length)
            elif inner:
                if fence.length >= inner[-1]:
                    inner.pop()
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
                return loose_length(text, SEARCH) > 0
        return False


def _set(flags: bytearray, start: int, end: int) -> None:
    size = len(flags[start:end])
    flags[start:end] = b"\x01" * size
