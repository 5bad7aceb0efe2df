"""Find the fenced blocks of an answer that name a file, however they are nested.

A block ends at the first bare fence of its own kind, at least as long as the one that opens it, with these exceptions:

- A fence with a language inside it opens a block of its own, which takes the next bare fence.
- In a Markdown or text file, bare fences that pair up belong to the file, the last one closes it. That is assumed only
  where an odd number of them follows before the next named block and something stands directly below the first.
- Between the marks of an edit's section nothing closes.

A block that names no file is looked into: it may be a fence around the whole answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agentos.documents.changes.markers import (
    Marker,
    Verb,
    read_comment_marker,
    read_comment_reason,
    read_info_path,
    read_prose_marker,
    read_prose_reason,
)
from agentos.documents.changes.model import UnnamedBlock
from agentos.documents.changes.sections import SEARCH, SectionMap, is_mark

MOST_FENCES = 20_000
WHOLE = "whole"
"""In an info string: what looks like sections of an edit is the text of the file."""
_PROSE_FILES = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".qmd", ".rmd", ".j2", ".jinja", ".tmpl")
_PREAMBLES = ("#!", "<?", "<!doctype", "# -*-")


class Fence(NamedTuple):
    """A line that opens or closes a block."""

    row: int
    mark: str
    length: int
    indent: int
    info: str


@dataclass(frozen=True, slots=True)
class Name:
    """What a block says it is: verb and path, where its text begins, and the rows that stand before that."""

    verb: Verb
    path: str
    note: str
    row: int
    """The row of the marker."""
    start: int
    kept: tuple[str, ...] = ()
    """Rows before the marker that belong to the file, such as `#!/bin/sh`."""
    reason: str = ""
    above: int = -1
    """The row of a marker above the fence, -1 when there is none."""
    other: str = ""
    """A different path that the block names as well."""

    @property
    def is_prose(self) -> bool:
        """Tell whether the file is one in which fences are expected."""
        return self.path.casefold().endswith(_PROSE_FILES)


@dataclass(frozen=True, slots=True)
class Block:
    """A named block: its rows from the name's start up to `end`, and whether a fence closes it."""

    name: Name
    fence: Fence
    end: int
    is_closed: bool
    is_last: bool


@dataclass(slots=True)
class Layout:
    """The blocks of an answer; `outside` are the rows that lie in none of them."""

    blocks: list[Block] = field(default_factory=list)
    unnamed: list[UnnamedBlock] = field(default_factory=list)
    covered: bytearray = field(default_factory=bytearray)

    def cover(self, start: int, end: int) -> None:
        """Take rows out of what is outside."""
        self.covered[start:end] = b"\x01" * (min(end, len(self.covered)) - start)


class _Plain(NamedTuple):
    fence: Fence
    named_before: int


def read_fences(rows: Sequence[str], candidates: Iterable[int]) -> list[Fence]:
    """Return the lines that may open or close a block."""
    return [fence for row in candidates if (fence := _read_fence(row, rows[row]))]


def _read_fence(row: int, text: str) -> Fence | None:
    bare = text.lstrip(" \t")
    mark = bare[:1]
    rest = bare.lstrip(mark)
    length = len(bare) - len(rest)
    if mark not in ("`", "~") or length < 3 or (mark == "`" and "`" in rest):
        return None
    blank = text[: len(text) - len(bare)]
    return Fence(row, mark, length, len(blank.expandtabs(4)) if len(blank) <= 64 else 64, rest.strip(" \t\r"))


def lay_out(rows: Sequence[str], fences: Sequence[Fence], sections: SectionMap) -> Layout:
    """Return the named blocks, the unnamed ones, and what lies outside both."""
    scanner = _Scanner(rows, fences, sections)
    scanner.run()
    return scanner.layout


class _Scanner:
    """Walk over the fences once; rows between them are never looked at."""

    def __init__(self, rows: Sequence[str], fences: Sequence[Fence], sections: SectionMap) -> None:
        self.rows, self.fences, self.sections = rows, fences, sections
        self.layout = Layout(covered=bytearray(len(rows)))
        self._names: dict[int, Name | None] = {}
        self._bare: Sequence[int] = ()
        self._bare_until = -1

    def run(self) -> None:
        plain: list[_Plain] = []
        index = 0
        while index < len(self.fences):
            fence = self.fences[index]
            name = self._name(fence)
            if plain and _closes(fence, plain[-1].fence) and not self._is_text_below(fence, name):
                self._end_plain(plain, fence.row + 1)
            elif name is not None:
                block, index = self._read_block(index, name)
                self.layout.blocks.append(block)
                self.layout.cover(fence.row, block.end + block.is_closed)
                continue
            elif not plain or fence.info:
                plain.append(_Plain(fence, len(self.layout.blocks)))
            index += 1
        while plain:
            self._end_plain(plain, len(self.rows))

    def _end_plain(self, plain: list[_Plain], end: int) -> None:
        fence, named_before = plain.pop()
        is_wrapper = named_before != len(self.layout.blocks)
        if plain or is_wrapper:
            return
        if any(row.strip() for row in self.rows[fence.row + 1 : end]):
            self.layout.unnamed.append(UnnamedBlock(fence.row + 1, fence.info[:80]))
        self.layout.cover(fence.row, end)

    def _is_text_below(self, fence: Fence, name: Name | None) -> bool:
        """Tell whether a bare fence opens a file: its marker follows, and below that neither a gap nor a fence."""
        if name is None or name.row != fence.row + 1 or name.row + 1 >= len(self.rows):
            return False
        below = self.rows[name.row + 1]
        return bool(below.strip()) and _read_fence(0, below) is None

    def _read_block(self, index: int, name: Name) -> tuple[Block, int]:
        """Return the block that a fence opens, and the index of the first fence behind it."""
        outer = self.fences[index]
        inner: list[int] = []
        is_edit = name.verb is Verb.EDIT or (WHOLE not in outer.info and self._begins_with_section(name.start))
        # Where the next section is looked for, and the last row of the one before.
        seek, section_end = name.start, -1
        for at in range(index + 1, len(self.fences)):
            fence = self.fences[at]
            if fence.mark != outer.mark or fence.indent > outer.indent + 3 or fence.length < outer.length:
                continue
            while is_edit and (section := self.sections.next_section(seek, fence.row)):
                section_end = section[1]
                seek = section_end + 1
            if fence.row <= section_end:
                continue
            if fence.info:
                if not name.is_prose and self._name(fence) is not None:
                    return Block(name, outer, fence.row, is_closed=False, is_last=False), at
                inner.append(fence.length)
            elif inner:
                if fence.length >= inner[-1]:
                    inner.pop()
            elif name.is_prose and self._opens_pair(at):
                inner.append(fence.length)
            else:
                return Block(name, outer, fence.row, is_closed=True, is_last=False), at + 1
        return Block(name, outer, len(self.rows), is_closed=False, is_last=True), len(self.fences)

    def _begins_with_section(self, start: int) -> bool:
        row = next((row for row in self.rows[start : start + 3] if row.strip()), "")
        return is_mark(row.strip(), SEARCH)

    def _opens_pair(self, at: int) -> bool:
        row = self.fences[at].row
        below = self.rows[row + 1] if row + 1 < len(self.rows) else ""
        if not below.strip() or _read_fence(0, below) or read_prose_marker(below):
            return False
        if at > self._bare_until:
            self._bare, self._bare_until = self._find_bare(at)
        left = len(self._bare) - bisect_right(self._bare, at - 1)
        return left >= 3 and left % 2 == 1

    def _find_bare(self, at: int) -> tuple[list[int], int]:
        """Return the bare fences, outside those with a language, up to the next named block, and where that begins."""
        outer = self.fences[at]
        found: list[int] = []
        depth = 0
        for index in range(at, len(self.fences)):
            fence = self.fences[index]
            if fence.mark != outer.mark or fence.length < 3:
                continue
            if fence.info:
                if self._name(fence) is not None:
                    return found, index
                depth += 1
            elif depth:
                depth -= 1
            else:
                found.append(index)
        return found, len(self.fences)

    def _name(self, fence: Fence) -> Name | None:
        if fence.row not in self._names:
            self._names[fence.row] = self._find_name(fence)
        return self._names[fence.row]

    def _find_name(self, fence: Fence) -> Name | None:
        """Return what names the block that a fence would open: a line inside, its info string or a line above."""
        rows = self.rows
        kept: tuple[str, ...] = ()
        row = fence.row + 1
        while row < min(len(rows), fence.row + 3) and not rows[row].strip():
            row += 1
        if row + 1 < len(rows) and rows[row].lstrip().casefold().startswith(_PREAMBLES):
            kept, row = (rows[row],), row + 1
        inside = read_comment_marker(rows[row]) if row < len(rows) else None
        above, above_row, above_reason = self._look_above(fence.row)
        info_path = read_info_path(fence.info).removeprefix("./")
        if inside is not None:
            start, reason = self._skip_reason(row + 1)
            outer_path = info_path or (above.path if above else "")
            return Name(
                *(inside.verb, inside.path, inside.note, row, start, kept, reason or above_reason, above_row),
                other=outer_path if outer_path != inside.path else "",
            )
        start = fence.row + 1
        if info_path or above:
            below = read_comment_reason(rows[start]) if start < len(rows) else None
            if below is not None:
                start, _ = self._skip_reason(start)
            reason = below or above_reason
            if above and (not info_path or info_path == above.path):
                return Name(above.verb, above.path, above.note, above_row, start, (), reason, above_row)
            other = above.path if above else ""
            return Name(Verb.FILE, info_path, "", fence.row, start, (), reason, above_row, other=other)
        return None

    def _skip_reason(self, start: int) -> tuple[int, str]:
        """Return where the text begins after a marker: behind a reason, and behind one blank row."""
        rows = self.rows
        reason = read_comment_reason(rows[start]) if start < len(rows) else None
        if reason is not None:
            start += 1
        if start < len(rows) and not rows[start].strip(" \t\r"):
            start += 1
        return start, reason or ""

    def _look_above(self, row: int) -> tuple[Marker | None, int, str]:
        """Return the marker above a fence with its row, and a reason that stands between them or alone."""
        at = row - 1
        if at >= 0 and not self.rows[at].strip():
            at -= 1
        if at < 0:
            return None, -1, ""
        reason = read_prose_reason(self.rows[at])
        if reason is not None:
            at -= 1
        marker = read_prose_marker(self.rows[at]) if at >= 0 else None
        if marker is None:
            return None, -1, reason or ""
        if marker.verb is Verb.DELETE:
            return None, -1, ""
        return marker, at, reason or ""


def _closes(fence: Fence, opening: Fence) -> bool:
    return (
        not fence.info
        and fence.mark == opening.mark
        and fence.length >= opening.length
        and fence.indent <= opening.indent + 3
    )
