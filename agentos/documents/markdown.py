"""Read Markdown line by line; `markdown-it-py` tells which block each line belongs to.

Only blocks are parsed, never inline markup: that is several times faster, and a hostile
text full of brackets takes no longer than any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_CHARACTERS = 1_000_000
"""The length at which documents are cut: a megabyte of short lines takes seconds."""
MAX_SECTIONS = 5_000

_BULLET = re.compile(r"^([ \t]*)•(?=[ \t])", re.MULTILINE)
_MARKER = re.compile(r"([-*+•]|\d{1,9}[.)])(?:[ \t]+|$)")
_CHECKBOX = re.compile(r"\[([ xX])\](?: |$)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_COMMENT = re.compile(r"`[^`]*`|<!--.*?(?:-->|(\Z))", re.DOTALL)
_LINE_END = re.compile(r"\s*\n\s*")
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


class LineKind(StrEnum):
    """What a line is."""

    TEXT = "text"
    BLANK = "blank"
    HEADING = "heading"
    UNDERLINE = "underline"
    """The rest of a heading that has more than one line."""
    FENCE = "fence"
    CODE = "code"
    COMMENT = "comment"


class Form(StrEnum):
    """The block that a line of text belongs to."""

    PARAGRAPH = "paragraph"
    TABLE = "table"
    QUOTE = "quote"
    HTML = "html"
    RULE = "rule"


_FORMS = {
    "paragraph_open": Form.PARAGRAPH,
    "heading_open": Form.PARAGRAPH,
    "table_open": Form.TABLE,
    "blockquote_open": Form.QUOTE,
    "html_block": Form.HTML,
    "hr": Form.RULE,
}
"""The parser's tokens for blocks of text; a heading in a list counts as text."""


class Line(NamedTuple):
    """One line without its line end; `text` has no comments."""

    number: int
    text: str
    kind: LineKind
    level: int = 0
    """Level of a heading, else 0."""
    info: str = ""
    """Language of an opening fence."""
    form: Form = Form.PARAGRAPH
    block: int = 0
    """Number of the first line of the paragraph, table or code block."""
    depth: int = 0
    """Number of list items around the line."""
    item: int = 0
    """Depth of the outermost list item that begins on this line, else 0."""

    @property
    def is_text(self) -> bool:
        """Tell whether the line is visible text and not a heading."""
        return self.kind is LineKind.TEXT

    @property
    def is_code(self) -> bool:
        """Tell whether the line is code or a fence around it."""
        return self.kind in (LineKind.CODE, LineKind.FENCE)

    @property
    def is_row(self) -> bool:
        """Tell whether the line belongs to a table."""
        if not self.is_text:
            return False
        return self.form is Form.TABLE

    @property
    def is_prose(self) -> bool:
        """Tell whether the line belongs to a paragraph outside lists."""
        if self.depth:
            return False
        if not self.is_text:
            return False
        return self.form in (Form.PARAGRAPH, Form.QUOTE)


Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the lines under it."""

    title: str
    level: int
    line: int
    body: Lines
    """The lines up to the next heading of any level."""
    whole: Lines
    """The lines up to the next heading of the same or a higher level."""


Sections = tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item of a list, with its nested items as details."""

    text: str
    line: int
    is_checked: bool | None
    """The state of the checkbox, or None without one."""
    is_ordered: bool
    details: tuple[str, ...] = ()


def split_lines(text: str) -> list[str]:
    """Split at line feeds, and drop carriage returns and byte order marks."""
    lines = text.split("\n")
    if "\ufeff" in text:
        lines = [line.lstrip("\ufeff") for line in lines]
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]
    return lines


def scan(text: str) -> Lines:
    """Classify every line of a document."""
    return scan_rows(split_lines(text))


def scan_rows(rows: Sequence[str], first: int = 1) -> Lines:
    """Classify rows, numbering them from `first`."""
    # The parser must count lines as we do, so no carriage return may reach it.
    source = "\n".join(rows)
    source = source.replace("\r", " ")
    # The parser does not know this bullet; a hyphen is as wide.
    if "•" in source:
        source = _BULLET.sub(r"\1-", source)
    drafts = [_Draft(number, row) for number, row in enumerate(rows, first)]
    parser = load_parser()
    tokens = parser.parse(f"{source}\n")
    _classify(drafts, tokens)
    lines = [draft.finish() for draft in drafts]
    return tuple(lines)


@cache
def load_parser() -> MarkdownIt:
    """Return the parser; it is imported late because most commands read no Markdown."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.enable("table")
    parser.disable("reference")
    parser.core.ruler.enableOnly(["block"])
    return parser


@dataclass(slots=True)
class _Draft:
    """A line that is not fully classified yet."""

    number: int
    text: str
    kind: LineKind = LineKind.TEXT
    level: int = 0
    info: str = ""
    form: Form = Form.PARAGRAPH
    block: int = 0
    depth: int = 0
    item: int = 0

    def finish(self) -> Line:
        """Return the classified line."""
        if self.kind is LineKind.TEXT and not self.text.strip():
            self.kind = LineKind.BLANK
            self.text = ""
        return Line(
            self.number,
            self.text,
            self.kind,
            self.level,
            self.info,
            self.form,
            self.block,
            self.depth,
            self.item,
        )


Drafts = Sequence[_Draft]


def _classify(lines: Drafts, tokens: Sequence[Token]) -> None:
    """Mark the lines of every block; blocks inside a quote stay plain text."""
    quote_end = 0
    for index, token in enumerate(tokens):
        # Closing tokens have no lines; -1 is less than any `quote_end`: skip them.
        start, end = token.map or (-1, -1)
        if start < quote_end:
            continue
        own = lines[start:end]
        type = token.type
        if type == "list_item_open":
            # Each list nests its items two levels deeper: one for it, one for the item.
            depth = token.level // 2 + 1
            _mark_item(own, depth)
        elif type == "heading_open" and not token.level:
            level = int(token.tag[1:])
            title = tokens[index + 1]
            _mark_heading(own, level, title.content)
        elif type == "fence":
            _mark_fence(own, token)
        elif type == "code_block":
            _mark_code(own)
        elif type in _FORMS:
            _mark_text(own, _FORMS[type])
        if type == "blockquote_open":
            quote_end = end


def _mark_item(lines: Drafts, depth: int) -> None:
    for line in lines:
        line.depth = depth
    first = lines[0]
    # Outer items come first and keep the line.
    if not first.item:
        first.item = depth


def _mark_heading(lines: Drafts, level: int, source: str) -> None:
    for line in lines:
        line.kind = LineKind.UNDERLINE
        line.text = ""
    title = _COMMENT.sub(_keep_visible, source)
    first = lines[0]
    first.kind = LineKind.HEADING
    title = _LINE_END.sub(" ", title)
    first.text = title.strip()
    first.level = level


def _mark_code(lines: Drafts) -> None:
    for line in lines:
        line.kind = LineKind.CODE
        line.block = lines[0].number


def _mark_fence(lines: Drafts, token: Token) -> None:
    _mark_code(lines)
    opening = lines[0]
    opening.kind = LineKind.FENCE
    opening.info = token.info.strip()
    # Without a closing fence, only the opening is not part of the content.
    count = token.content.count("\n")
    is_closed = len(lines) == count + 2
    if is_closed:
        lines[-1].kind = LineKind.FENCE


def _mark_text(lines: Drafts, form: Form) -> None:
    for line in lines:
        line.form = form
        line.block = lines[0].number
    texts = [line.text for line in lines]
    source = "\n".join(texts)
    if "<!--" not in source:
        return
    if form is Form.HTML:
        shown = _HTML_COMMENT.sub(_keep_line_ends, source)
    else:
        shown = _COMMENT.sub(_keep_visible, source)
    texts = shown.split("\n")
    for line, text in zip(lines, texts, strict=True):
        is_hidden = not text.strip()
        if is_hidden and line.text.strip():
            line.kind = LineKind.COMMENT
        line.text = text


def _keep_visible(found: re.Match[str]) -> str:
    """Keep code spans and unclosed comments, and drop other comments."""
    text = found[0]
    is_unclosed = found[1] is not None
    if is_unclosed:
        return text
    if text.startswith("`"):
        return text
    return _keep_line_ends(found)


def _keep_line_ends(found: re.Match[str]) -> str:
    count = found[0].count("\n")
    return "\n" * count


def fence_opening(line: str) -> tuple[str, str] | None:
    """Return the mark and the language of a line that opens a fence, or None."""
    found = _FENCE.fullmatch(line)
    if found is None:
        return None
    mark, info = found.groups()
    return mark, info.strip()


def is_fence_close(line: str, fence: str) -> bool:
    """Tell whether a line closes the fence that was opened with this mark."""
    stripped = line.strip(" \t")
    letter = fence[0]
    if stripped.strip(letter):
        return False
    return len(stripped) >= len(fence)


def heading_level(line: str) -> int:
    """Return the level of a heading that begins with `#`, else 0."""
    found = _HEADING.match(line)
    if found is None:
        return 0
    return len(found[1])


def list_marker(stripped: str) -> tuple[str, bool] | None:
    """Return the text after a list marker and whether it was a number, or None."""
    found = _MARKER.match(stripped)
    if found is None:
        return None
    text = stripped[found.end() :]
    is_ordered = stripped[0].isdigit()
    return text, is_ordered


def split_checkbox(text: str) -> tuple[bool | None, str]:
    """Return the state of a checkbox, None without one, and the text after it."""
    found = _CHECKBOX.match(text)
    if found is None:
        return None, text.strip()
    is_checked = found[1] != " "
    rest = text[found.end() :]
    return is_checked, rest.strip()


def open_fence(lines: Lines) -> Line | None:
    """Return the line with a fence that is open at the end of a document, or None."""
    last = last_written(lines)
    if last is None:
        return None
    if not last.is_code:
        return None
    opening = first_of_block(lines, last)
    if opening.kind is not LineKind.FENCE:
        return None
    if last is opening:
        return opening
    if last.kind is LineKind.CODE:
        return opening
    return None


def last_written(lines: Lines) -> Line | None:
    """Return the last line that is not blank."""
    for line in reversed(lines):
        if line.kind is not LineKind.BLANK:
            return line
    return None


def first_of_block(lines: Lines, line: Line) -> Line:
    """Return the first line of the block that a line belongs to."""
    first = lines[0]
    return lines[line.block - first.number]


def closing_fence(lines: Lines) -> str:
    """Return the mark that closes the last fence if it is open, else nothing.

    A fence inside a list item ends with its item.
    """
    opening = open_fence(lines)
    if opening is None:
        return ""
    if opening.depth:
        return ""
    found = fence_opening(opening.text)
    if found is None:
        return ""
    return found[0]


def sections(lines: Lines) -> Sections:
    """Return the headings with their lines, without the lines before the first one."""
    found: list[Section] = []
    end = len(lines)
    # For each level, where the next heading of this or a higher level begins. Walking
    # backward keeps that up to date, so no heading searches for the end of its section.
    ends = [end] * 7
    starts = [index for index, line in enumerate(lines) if line.level]
    starts = starts[:MAX_SECTIONS]
    for start in reversed(starts):
        head = lines[start]
        level = head.level
        begin = start + 1
        while begin < end and lines[begin].kind is LineKind.UNDERLINE:
            begin += 1
        section = Section(
            title=head.text,
            level=level,
            line=head.number,
            body=lines[begin:end],
            whole=lines[begin : ends[level]],
        )
        found.append(section)
        end = start
        deeper = 7 - level
        ends[level:] = [start] * deeper
    found.reverse()
    return tuple(found)


def end_of_heading(lines: Lines) -> int:
    """Return the number of the last line of the first heading, 0 without a heading."""
    end = 0
    for line in lines:
        if end and line.kind is not LineKind.UNDERLINE:
            break
        if line.level or end:
            end = line.number
    return end


def items(lines: Iterable[Line]) -> tuple[ListItem, ...]:
    """Return the list items; wrapped lines are joined, nested items become details."""
    found: list[ListItem] = []
    # The rows of the last item, then those of each item nested in it.
    parts: list[list[str]] = []
    base = 0
    for line in lines:
        if not line.is_text:
            continue
        if line.is_row:
            continue
        row = line.text.strip()
        marked = None
        if line.item:
            marked = list_marker(row)
        if marked is None:
            if parts and line.depth:
                parts[-1].append(row)
            continue
        row, is_ordered = marked
        row = row.strip()
        is_checked, text = split_checkbox(row)
        if parts and line.item > base:
            parts.append([text])
            continue
        _finish_item(found, parts)
        base = line.item
        parts = [[text]]
        item = ListItem("", line.number, is_checked, is_ordered)
        found.append(item)
    _finish_item(found, parts)
    return tuple(item for item in found if item.text or item.details)


def _finish_item(found: list[ListItem], parts: Iterable[list[str]]) -> None:
    """Give the last item its text and its details."""
    if not found:
        return
    texts = map(" ".join, parts)
    text, *details = map(str.strip, texts)
    item = found.pop()
    item = replace(item, text=text, details=tuple(details))
    found.append(item)


def prose_rows(lines: Iterable[Line]) -> dict[int, list[str]]:
    """Return the rows of each paragraph outside lists and tables, by its first line."""
    found: dict[int, list[str]] = {}
    for line in lines:
        if line.is_prose:
            row = line.text.strip()
            rows = found.setdefault(line.block, [])
            rows.append(row)
    return found


def paragraphs(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return each paragraph as one string, without lists, tables and code."""
    found = prose_rows(lines)
    texts = map(" ".join, found.values())
    return tuple(texts)
