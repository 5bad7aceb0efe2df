"""Tell change logs from other files, and join what two sides add to one.

Every item adds an entry of its own to a change log, so two items that do are not in each
other's way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NAME = re.compile(
    r"(?:changelog|changes|history|news|releases)"
    r"(?:[-_][\w-]*(?:\.\d+)*)?"
    r"(?:\.(?:md|rst|txt))?",
    re.IGNORECASE,
)
_FOLDERS = ("", "docs")
_MARKS = b"-*+"

Lines = Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that take the place of others."""

    start: int
    """Index of the first line that is replaced."""
    end: int
    """Index after the last one; the same as `start` where lines are only added."""
    lines: tuple[bytes, ...]

    @property
    def only_adds(self) -> bool:
        """Whether no line is replaced."""
        return self.start == self.end

    def touches(self, other: Hunk) -> bool:
        """Tell whether there is no unchanged line between this and another one."""
        return self.start <= other.end and other.start <= self.end


def is_change_log(path: str) -> bool:
    """Tell whether a file has the name of a change log, at the top or in `docs`."""
    folder, _, name = path.rpartition("/")
    if folder.casefold() not in _FOLDERS:
        return False
    return _NAME.fullmatch(name) is not None


def join_hunks(
    base: Lines, ours: Sequence[Hunk], theirs: Sequence[Hunk]
) -> list[bytes] | None:
    """Return the lines with the changes of both sides, ours first where both add at the
    same place; None if they change the same lines.
    """
    joined: list[bytes] = []
    position = 0
    left = list(reversed(ours))
    right = list(reversed(theirs))
    while left or right:
        hunk = _next(left, right)
        if hunk is None:
            return None
        unchanged = base[position : hunk.start]
        joined += unchanged
        joined += hunk.lines
        position = hunk.end
    joined += base[position:]
    return joined


def _next(left: list[Hunk], right: list[Hunk]) -> Hunk | None:
    """Take the first change from the ends of two lists, None if two conflict."""
    if not right:
        return left.pop()
    if not left:
        return right.pop()
    ours = left[-1]
    theirs = right[-1]
    if ours.touches(theirs):
        left.pop()
        right.pop()
        return _join(ours, theirs)
    if ours.start < theirs.start:
        return left.pop()
    return right.pop()


def _join(ours: Hunk, theirs: Hunk) -> Hunk | None:
    if ours == theirs:
        return ours
    if not ours.only_adds or not theirs.only_adds:
        return None
    lines = join_added(ours.lines, theirs.lines)
    return Hunk(ours.start, ours.end, tuple(lines))


def join_added(ours: Lines, theirs: Lines) -> list[bytes]:
    """Return the lines that two sides add at the same place, a heading of both once."""
    if _contains(ours, theirs):
        return list(ours)
    if _contains(theirs, ours):
        return list(theirs)
    head = _count_shared_head(ours, theirs)
    first = list(ours[head:])
    second = list(theirs[head:])
    tail = _count_shared_blank(first, second)
    end = len(first) - tail
    blank = first[end:]
    del first[end:]
    end = len(second) - tail
    del second[end:]
    joined = list(ours[:head])
    joined += first
    # Sections and paragraphs stay apart, entries of a list need not.
    if _has_blank(first) or _has_blank(second):
        joined += blank
    joined += second
    joined += blank
    return joined


def _contains(lines: Lines, others: Lines) -> bool:
    return _as_text(others) in _as_text(lines)


def _as_text(lines: Lines) -> bytes:
    return b"\n" + b"\n".join(lines) + b"\n"


def _count_shared_head(ours: Lines, theirs: Lines) -> int:
    """Count the headings at the beginning that both have.

    A line that entries begin with is not one of them: it belongs to each.
    """
    headings = 0
    pairs = zip(ours, theirs, strict=False)
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            break
        if _ends_heading(one):
            headings = number
    for lines in (ours, theirs):
        following = lines[headings : headings + 1]
        if any(map(_continues, following)):
            return 0
    return headings


def _count_shared_blank(ours: Lines, theirs: Lines) -> int:
    count = 0
    pairs = zip(reversed(ours), reversed(theirs), strict=False)
    for one, other in pairs:
        if not _is_blank(one):
            break
        if not _is_blank(other):
            break
        count += 1
    return count


def _has_blank(lines: Lines) -> bool:
    blank = map(_is_blank, lines)
    return any(blank)


def _is_blank(line: bytes) -> bool:
    return not line.strip()


def _ends_heading(line: bytes) -> bool:
    """Tell whether a line is a heading, the line below one, or blank."""
    bare = line.strip()
    if bare.startswith(b"#"):
        return True
    if bare.endswith(b":"):
        return True
    of_words = map(_is_of_word, bare)
    return not any(of_words)


def _is_of_word(code: int) -> bool:
    if code > 127:
        return True
    sign = chr(code)
    return sign.isalnum()


def _continues(line: bytes) -> bool:
    """Tell whether a line goes on with the entry above it."""
    bare = line.strip()
    if line[:1] not in (b" ", b"\t"):
        return False
    return bare[:1] not in _MARKS
