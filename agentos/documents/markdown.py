"""Read Markdown line by line: fences, headings, comments, list items and sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from agentos.documents.comments import cut_comments

MAX_SECTIONS = 5_000
_SPACES = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


_MARKERS = frozenset("-*+•0123456789")
_INDENTING = frozenset(" \t")
_SPECIAL = frozenset("`~#=")
"""What begins a line that is a fence or belongs to a heading."""


class Kind(StrEnum):
    """What a line is."""

    TEXT = "text"
    BLANK = "blank"
    HEADING = "heading"
    FENCE = "fence"
    CODE = "code"
    COMMENT = "comment"


class Line(NamedTuple):
    """One line without its line end; `text` is what a reader sees, so comments are cut out of it."""

    number: int
    text: str
    kind: Kind
    level: int = 0
    """Level of a heading, else 0."""
    info: str = ""
    """Language of an opening fence."""
    hidden: str = ""
    """What the line holds of comments, marks included."""

    @property
    def indent(self) -> int:
        """Return how many columns of space the line begins with."""
        if self.text[:1] not in _INDENTING:
            return 0
        expanded = self.text[:64].expandtabs(4)
        return len(expanded) - len(expanded.lstrip(" "))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    title: str
    level: int
    line: int
    body: tuple[Line, ...]
    """The lines up to the next heading of any level."""
    whole: tuple[Line, ...]
    """The lines up to the next heading of the same or a higher level, subheadings included."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list, with its nested entries as details."""

    text: str
    line: int
    is_checked: bool | None = None
    """The state of a checkbox, None when there is none."""
    is_ordered: bool = False
    details: tuple[str, ...] = ()


def split_lines(text: str) -> list[str]:
    """Split at line feeds only; carriage returns, and byte order marks before a line, are no part of it."""
    lines = text.split("\n")
    if "\ufeff" in text:
        lines = [line.lstrip("\ufeff") for line in lines]
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def scan(text: str) -> tuple[Line, ...]:
    """Classify every line of a document; an unclosed fence or leading comment runs to the end."""
    return scan_rows(split_lines(text))


def scan_rows(rows: Sequence[str], first: int = 1) -> tuple[Line, ...]:
    """Classify rows, numbering them from `first`."""
    last_close = -2
    lines: list[Line] = []
    hidden = ""
    in_comment = False
    # Names and the bare constructor save a third of the time that a text of very short lines takes.
    blank, plain_text, code, mark, new = Kind.BLANK, Kind.TEXT, Kind.CODE, Kind.FENCE, tuple.__new__
    special = _SPECIAL
    numbered = enumerate(rows)
    for index, source in numbered:
        number = first + index
        if not source and not in_comment:
            lines.append(new(Line, (number, "", blank, 0, "", "")))
            continue
        visible, hidden, was_comment = source, "", in_comment
        if in_comment or "<!--" in source:
            if last_close == -2:
                last_close = next((n for n in range(len(rows) - 1, -1, -1) if "-->" in rows[n]), -1)
            visible, hidden, in_comment = cut_comments(source, in_comment, index < last_close)
        stripped = visible.strip()
        if not stripped:
            is_hidden = was_comment or bool(hidden)
            lines.append(Line(number, "", Kind.COMMENT if is_hidden else blank, 0, "", hidden))
            continue
        if stripped[0] not in special:
            lines.append(new(Line, (number, visible, plain_text, 0, "", hidden)))
        elif stripped[0] in "`~" and (opening := fence_opening(visible)):
            fence, info = opening
            lines.append(new(Line, (number, visible, mark, 0, info, hidden)))
            closing = _closing_row(rows, index + 1, fence)
            inside = enumerate(rows[index + 1 : closing], number + 1)
            lines += [new(Line, (place, row, code, 0, "", "")) for place, row in inside]
            if closing < len(rows):
                lines.append(new(Line, (first + closing, rows[closing], mark, 0, "", "")))
            next(islice(numbered, closing - index, closing - index), None)
        else:
            lines.append(_text_or_heading(number, visible, hidden, lines))
    return tuple(lines)


def _closing_row(rows: Sequence[str], start: int, fence: str) -> int:
    """Return the index of the row that closes a fence; an unclosed one runs to the end."""
    for index in range(start, len(rows)):
        if fence in rows[index] and is_fence_close(rows[index], fence):
            return index
    return len(rows)


def fence_opening(line: str) -> tuple[str, str] | None:
    """Return the mark and the language of a line that opens a fence, or None."""
    stripped = line.lstrip(" \t")
    mark = stripped[:1]
    if mark not in ("`", "~"):
        return None
    rest = stripped.lstrip(mark)
    length = len(stripped) - len(rest)
    if length < 3 or (mark == "`" and "`" in rest):
        return None
    return mark * length, rest.strip()


def is_fence_close(line: str, fence: str) -> bool:
    """Tell whether a line closes the fence that was opened with this mark."""
    stripped = line.strip(" \t")
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _text_or_heading(number: int, line: str, hidden: str, before: list[Line]) -> Line:
    stripped = line.strip()
    level = heading_level(line)
    if level:
        return Line(number, _unclosed_title(stripped[level:]), Kind.HEADING, level, "", hidden)
    if len(stripped) >= 3 and not stripped.strip("=") and before:
        above = before[-1]
        if above.kind is Kind.TEXT and list_marker(above.text.lstrip()) is None:
            before[-1] = above._replace(text=_unclosed_title(above.text), kind=Kind.HEADING, level=1)
            return Line(number, "", Kind.BLANK, hidden=hidden)
    return Line(number, line, Kind.TEXT, 0, "", hidden)


def _unclosed_title(text: str) -> str:
    """Return a heading's text without the marks that close it."""
    title = text.strip()
    if "#" not in title:
        return title
    bare = title.rstrip(_SPACES + "#")
    closing = title[len(bare) :]
    return bare + closing[: len(closing) - len(closing.lstrip("#"))] if bare else ""


def heading_level(line: str) -> int:
    """Return the level of an ATX heading, or 0 when the line is none."""
    stripped = line.strip()
    if stripped[:1] != "#" or (line[0] != "#" and len(line) - len(line.lstrip(" ")) > 3):
        return 0
    level = len(stripped[:7]) - len(stripped[:7].lstrip("#"))
    if level > 6 or (len(stripped) > level and stripped[level] not in " \t"):
        return 0
    return level


def sections(lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the headings with their lines, in order; what precedes the first heading is left out."""
    heading = Kind.HEADING
    starts = [n for n, line in enumerate(lines) if line.kind is heading][:MAX_SECTIONS]
    ends = _whole_ends(lines, starts)
    found = []
    for position, start in enumerate(starts):
        following = starts[position + 1] if position + 1 < len(starts) else len(lines)
        head = lines[start]
        body = tuple(lines[start + 1 : following])
        whole = body if ends[position] == following else tuple(lines[start + 1 : ends[position]])
        found.append(Section(head.text, head.level, head.number, body, whole))
    return tuple(found)


def _whole_ends(lines: Sequence[Line], starts: Sequence[int]) -> list[int]:
    ends = [len(lines)] * len(starts)
    open_at: list[int] = []
    for position, start in enumerate(starts):
        while open_at and lines[starts[open_at[-1]]].level >= lines[start].level:
            ends[open_at.pop()] = start
        open_at.append(position)
    return ends


def list_marker(stripped: str) -> tuple[str, bool] | None:
    """Return the text after a list marker and whether it was a number, or None."""
    if stripped[:1] not in _MARKERS:
        return None
    if stripped[:2] in ("- ", "* ", "+ ", "• "):
        return stripped[2:], False
    if stripped in ("-", "*", "+"):
        return "", False
    digits = len(stripped[:10]) - len(stripped[:10].lstrip("0123456789"))
    if 0 < digits < 10 and stripped[digits : digits + 2] in (". ", ") "):
        return stripped[digits + 2 :], True
    return None


def split_checkbox(text: str) -> tuple[bool | None, str]:
    """Split the state of a checkbox from the text after it; None when there is no box."""
    if len(text) >= 3 and text[0] == "[" and text[2] == "]" and text[1] in " xX" and text[3:4] in ("", " "):
        return text[1] != " ", text[3:].strip()
    return None, text.strip()


def items(lines: Iterable[Line]) -> tuple[Item, ...]:
    """Return the list entries, joining wrapped lines and attaching nested entries to their parent."""
    found: list[Item] = []
    base, can_continue = 0, False
    wrapped: list[str] = []
    pending: list[list[str]] = []

    def close() -> None:
        if found and (wrapped or pending):
            last = found[-1]
            text = " ".join([last.text, *wrapped]).strip()
            found[-1] = Item(text, last.line, last.is_checked, last.is_ordered, tuple(map(" ".join, pending)))
        wrapped.clear()
        pending.clear()

    plain_text, code, blank, heading = Kind.TEXT, Kind.CODE, Kind.BLANK, Kind.HEADING
    for line in lines:
        kind = line.kind
        if kind is not plain_text:
            if kind is code:
                continue
            if kind is heading:
                close()
                can_continue = False
            elif kind is blank:
                can_continue = False
            continue
        stripped = line.text.strip()
        marked = list_marker(stripped)
        if marked is None:
            if can_continue or (found and line.indent >= base + 2 and not _is_row(stripped)):
                if pending:
                    pending[-1].append(stripped)
                else:
                    wrapped.append(stripped)
                can_continue = True
            continue
        is_checked, text = split_checkbox(marked[0].strip())
        if found and line.indent >= base + 2:
            pending.append([text])
            can_continue = True
            continue
        close()
        base, can_continue = line.indent, True
        found.append(Item(text, line.number, is_checked, marked[1]))
    close()
    return tuple(item for item in found if item.text or item.details)


def _is_row(stripped: str) -> bool:
    return stripped.startswith("|")


def paragraphs(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return running text, one string a paragraph, leaving out lists, tables and code."""
    return tuple(_paragraphs(lines))


def _paragraphs(lines: Iterable[Line]) -> Iterator[str]:
    current: list[str] = []
    in_list = False
    plain_text = Kind.TEXT
    for line in lines:
        if line.kind is not plain_text:
            in_list = False
        else:
            stripped = line.text.strip()
            begins = stripped[:1]
            if begins == "|" or (begins in _MARKERS and list_marker(stripped)):
                in_list = True
            elif stripped.strip("-*_ "):
                if not in_list or (line.indent < 2 and not current):
                    current.append(stripped)
                continue
            else:
                in_list = False
        if current:
            yield " ".join(current)
            current = []
    if current:
        yield " ".join(current)


def code_blocks(lines: Iterable[Line]) -> tuple[tuple[str, str], ...]:
    """Return the fenced blocks as (language, text)."""
    found: list[tuple[str, str]] = []
    current: list[str] | None = None
    info = ""
    code, fence = Kind.CODE, Kind.FENCE
    for line in lines:
        kind = line.kind
        if kind is code and current is not None:
            current.append(line.text)
        elif kind is fence:
            if current is None:
                current, info = [], line.info
            else:
                found.append((info, "\n".join(current)))
                current = None
    if current is not None:
        found.append((info, "\n".join(current)))
    return tuple(found)
