"""Read Markdown line by line: fences, headings, comments, list items and sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

MAX_SECTIONS = 5_000


class Kind(StrEnum):
    """What a line is."""

    TEXT = "text"
    BLANK = "blank"
    HEADING = "heading"
    FENCE = "fence"
    CODE = "code"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line end; `text` is what a reader sees, so comments are cut out of it."""

    number: int
    text: str
    kind: Kind
    level: int = 0
    """Level of a heading, else 0."""
    info: str = ""
    """Language of an opening fence."""

    @property
    def indent(self) -> int:
        """Return how many columns of space the line begins with."""
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
    """Split at line feeds only, without a byte order mark and without carriage returns."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def scan(text: str) -> tuple[Line, ...]:
    """Classify every line of a document; an unclosed fence or leading comment runs to the end."""
    raw = split_lines(text)
    last_close = max((n for n, line in enumerate(raw) if "-->" in line), default=-1)
    lines: list[Line] = []
    fence = ""
    in_comment = False
    for index, source in enumerate(raw):
        number = index + 1
        if fence:
            closes = _closes(source, fence)
            lines.append(Line(number, source, Kind.FENCE if closes else Kind.CODE))
            if closes:
                fence = ""
            continue
        visible, was_comment, in_comment = _cut_comments(source, in_comment, index < last_close)
        if not visible.strip():
            lines.append(Line(number, "", Kind.COMMENT if was_comment else Kind.BLANK))
            continue
        opening = _opens(visible)
        if opening:
            fence, info = opening
            lines.append(Line(number, visible, Kind.FENCE, info=info))
            continue
        lines.append(_text_or_heading(number, visible, lines))
    return tuple(lines)


def _opens(line: str) -> tuple[str, str] | None:
    stripped = line.lstrip(" \t")
    mark = stripped[:1]
    if mark not in ("`", "~"):
        return None
    rest = stripped.lstrip(mark)
    length = len(stripped) - len(rest)
    if length < 3 or (mark == "`" and "`" in rest):
        return None
    return mark * length, rest.strip()


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip(" \t")
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _cut_comments(line: str, in_comment: bool, closes_later: bool) -> tuple[str, bool, bool]:
    """Return the line without comments, whether it had one, and whether one is still open."""
    if not in_comment and "<!--" not in line:
        return line, False, False
    kept: list[str] = []
    position, found = 0, in_comment
    while True:
        if in_comment:
            end = line.find("-->", position)
            if end < 0:
                return "".join(kept), True, True
            position, in_comment = end + 3, False
            continue
        start = _comment_start(line, position)
        if start < 0:
            return "".join([*kept, line[position:]]), found, False
        is_leading = not line[:start].strip()
        if line.find("-->", start + 4) < 0 and not closes_later and not is_leading:
            return "".join([*kept, line[position:]]), found, False
        kept.append(line[position:start])
        position, in_comment, found = start + 4, True, True


def _comment_start(line: str, position: int) -> int:
    """Find where a comment begins, skipping code spans."""
    while True:
        start = line.find("<!--", position)
        tick = line.find("`", position)
        if start < 0 or tick < 0 or start < tick:
            return start
        close = line.find("`", tick + 1)
        if close < 0:
            return start
        position = close + 1


def _text_or_heading(number: int, line: str, before: Sequence[Line]) -> Line:
    level = heading_level(line)
    if level:
        title = line.strip()[level:].strip()
        closed = title.rstrip("#")
        if closed != title and (not closed or closed[-1] in " \t"):
            title = closed.rstrip()
        return Line(number, title, Kind.HEADING, level)
    underline = line.strip()
    if len(underline) >= 3 and not underline.strip("=") and isinstance(before, list) and before:
        above = before[-1]
        if above.kind is Kind.TEXT and not _marker(above.text.lstrip()):
            before[-1] = replace(above, text=above.text.strip(), kind=Kind.HEADING, level=1)
            return Line(number, "", Kind.BLANK)
    return Line(number, line, Kind.TEXT)


def heading_level(line: str) -> int:
    """Return the level of an ATX heading, or 0 when the line is none."""
    if len(line) - len(line.lstrip(" ")) > 3:
        return 0
    stripped = line.strip()
    if not stripped.startswith("#"):
        return 0
    level = len(stripped[:7]) - len(stripped[:7].lstrip("#"))
    if level > 6 or (len(stripped) > level and stripped[level] not in " \t"):
        return 0
    return level


def sections(lines: Sequence[Line]) -> tuple[Section, ...]:
    """Return the headings with their lines, in order; what precedes the first heading is left out."""
    starts = [n for n, line in enumerate(lines) if line.kind is Kind.HEADING][:MAX_SECTIONS]
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


def _marker(stripped: str) -> tuple[str, bool] | None:
    """Return the text after a list marker and whether it was a number, or None."""
    if stripped[:2] in ("- ", "* ", "+ ", "• "):
        return stripped[2:], False
    if stripped in ("-", "*", "+"):
        return "", False
    digits = len(stripped[:10]) - len(stripped[:10].lstrip("0123456789"))
    if 0 < digits < 10 and stripped[digits : digits + 2] in (". ", ") "):
        return stripped[digits + 2 :], True
    return None


def _checkbox(text: str) -> tuple[bool | None, str]:
    if len(text) >= 3 and text[0] == "[" and text[2] == "]" and text[1] in " xX" and text[3:4] in ("", " "):
        return text[1] != " ", text[3:].strip()
    return None, text.strip()


def items(lines: Iterable[Line]) -> tuple[Item, ...]:
    """Return the list entries, joining wrapped lines and attaching nested entries to their parent."""
    found: list[Item] = []
    base, can_continue = 0, False
    wrapped: list[str] = []
    pending: list[str] = []

    def close() -> None:
        if found and (wrapped or pending):
            last = found[-1]
            text = " ".join([last.text, *wrapped]).strip()
            found[-1] = replace(last, text=text, details=tuple(pending))
        wrapped.clear()
        pending.clear()

    for line in lines:
        if line.kind is Kind.HEADING:
            close()
            can_continue = False
            continue
        if line.kind is not Kind.TEXT:
            can_continue = can_continue and line.kind is not Kind.BLANK
            continue
        stripped = line.text.strip()
        marked = _marker(stripped)
        if marked is None:
            if can_continue or (found and line.indent >= base + 2 and not _is_row(stripped)):
                if pending:
                    pending[-1] = f"{pending[-1]} {stripped}"
                else:
                    wrapped.append(stripped)
                can_continue = True
            continue
        is_checked, text = _checkbox(marked[0].strip())
        if found and line.indent >= base + 2:
            pending.append(text)
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
    for line in lines:
        stripped = line.text.strip()
        if line.kind is Kind.TEXT and (_marker(stripped) or _is_row(stripped)):
            in_list = True
        elif line.kind is Kind.TEXT and not (in_list and line.indent >= 2) and stripped.strip("-*_ "):
            if not in_list or not current:
                current.append(stripped)
            continue
        elif line.kind is Kind.TEXT and stripped.strip("-*_ "):
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
    for line in lines:
        if line.kind is Kind.CODE and current is not None:
            current.append(line.text)
        elif line.kind is Kind.FENCE:
            if current is None:
                current, info = [], line.info
            else:
                found.append((info, "\n".join(current)))
                current = None
    if current is not None:
        found.append((info, "\n".join(current)))
    return tuple(found)
