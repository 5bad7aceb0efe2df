"""Split a review into rows that a reader sees and parts that its headings make.

A row that is quoted, struck out, code or inside an element that hides or quotes is marked as hidden: it may be part
of a finding's text, but it states nothing. The same holds for a row that begins with a character reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from agentos.documents.markdown import Kind, Line
from agentos.documents.verdict.marks import bare, is_strikethrough_open, options, strip_marker
from agentos.documents.verdict.titles import may_name_a_verdict, verdict_label, words_of

_HIDING = "del|s|strike|pre|code|blockquote|template|script|style|textarea|details|q|samp|kbd|cite"
_TAG = re.compile(rf"<(/?)({_HIDING})\b[^<>]{{0,200}}>", re.IGNORECASE)
_TICKS = re.compile(r"`+")


class Form(Enum):
    """How a row is written."""

    HEADING = auto()
    ITEM = auto()
    TABLE = auto()
    TEXT = auto()
    RULE = auto()


# Names of their own: a member of an enumeration takes longer to look up than a row takes to place.
_HEADING, _ITEM, _TABLE, _TEXT, _RULE = Form.HEADING, Form.ITEM, Form.TABLE, Form.TEXT, Form.RULE


@dataclass(slots=True)
class Row:
    """One line that is not code, comment or blank."""

    line: Line
    form: Form
    text: str
    """The line without its list marker."""
    is_first: bool
    """It begins a paragraph, an item, a row or a heading."""
    is_nested: bool = False
    """It belongs to the list item above it."""
    is_hidden: bool = False
    _bare: str | None = None
    _may_name: bool | None = None

    @property
    def bare(self) -> str:
        """Return the text without emphasis, struck out words and harmless tags."""
        if self._bare is None:
            self._bare = bare(self.text)
        return self._bare

    @property
    def may_name_a_verdict(self) -> bool:
        """Tell quickly that the beginning of the row, with or without its marks, cannot hold the verdict's name."""
        if self._may_name is None:
            self._may_name = may_name_a_verdict(self.text) or (
                self.bare != self.text
                and (may_name_a_verdict(self.bare) or may_name_a_verdict(self.text.replace("*", "")))
            )
        return self._may_name

    @property
    def number(self) -> int:
        """Return the number of the line."""
        return self.line.number

    @property
    def states(self) -> bool:
        """Tell whether the row can state something of its own."""
        return not self.is_hidden and not self.is_nested


@dataclass(slots=True)
class _Context:
    """What the rows before a row make of it."""

    quoted: bool = False
    list_indent: int = -1
    last: Row | None = None
    """The row directly above, None after a blank line."""
    block: list[Row] = field(default_factory=list)
    tag: str = ""
    is_block_tag: bool = False


def read_rows(lines: Sequence[Line]) -> list[Row]:
    """Return the rows of a scanned document."""
    rows: list[Row] = []
    context = _Context()
    text, heading, code = Kind.TEXT, Kind.HEADING, Kind.CODE
    for line in lines:
        kind = line.kind
        if kind is code:
            # The fence above it has ended whatever code ends.
            continue
        if kind is not text and kind is not heading:
            _end_block(context)
            context.last = None
            context.quoted = False
            if context.tag and not context.is_block_tag:
                context.tag = ""
            if kind is Kind.FENCE:
                context.list_indent = context.list_indent if line.indent else -1
            continue
        row = _read_row(line, context)
        rows.append(row)
        if row.is_first:
            _end_block(context)
        context.block.append(row)
        context.last = row
    _end_block(context)
    return rows


def _read_row(line: Line, context: _Context) -> Row:
    if line.kind is Kind.HEADING:
        context.quoted, context.list_indent = False, -1
        row = Row(line, _HEADING, line.text, True)
        row.is_hidden = _is_tagged(row, context)
        return row
    stripped = line.text.strip()
    text, is_item = strip_marker(stripped)
    begins = stripped[0]
    is_rule = begins in "-*_" and len(stripped) >= 3 and not stripped.replace(" ", "").strip(begins)
    form = _RULE if is_rule else _ITEM if is_item else _TABLE if begins == "|" else _TEXT
    above = context.last
    row = Row(line, form, stripped if is_rule else text, form is not _TEXT or above is None)
    if above is not None and not row.is_first:
        row.is_first = (above.form is not _TEXT and not above.is_nested) or _is_label(above)
    indent = line.indent
    is_code = indent >= 4 and (context.list_indent < 0 or indent >= context.list_indent + 8)
    if not is_code:
        _place_in_list(row, indent, context)
    context.quoted = begins == ">" or (context.quoted and form in (_TEXT, _TABLE))
    is_escaped = text[:2] == "&#"
    row.is_hidden = context.quoted or is_code or is_escaped or _is_tagged(row, context)
    return row


def _place_in_list(row: Row, indent: int, context: _Context) -> None:
    """Tell whether a row belongs to the item above, lazily wrapped lines included."""
    above = context.last
    if row.form is _ITEM:
        row.is_nested = context.list_indent >= 0 and indent >= context.list_indent + 2
        if not row.is_nested:
            context.list_indent = indent
        return
    is_inside = context.list_indent >= 0 and indent >= context.list_indent + 2
    is_wrapped = above is not None and row.form is _TEXT and (above.form is _ITEM or above.is_nested)
    if is_wrapped and above is not None and not above.is_nested and (options(above.bare) or _is_open(above)):
        is_wrapped = False
    row.is_nested = is_inside or is_wrapped
    if row.is_nested:
        row.is_first = False
    elif above is None or row.form is not _TEXT:
        context.list_indent = -1


def _is_open(row: Row) -> bool:
    return row.bare.endswith(":") or _is_label(row)


def _is_label(row: Row) -> bool:
    """Tell whether a row is nothing but the name of the verdict, so that its value stands below."""
    text = row.text
    if len(text) >= 80 or not row.may_name_a_verdict or not may_name_a_verdict(text):
        return False
    return verdict_label(words_of(text)) in ("verdict", "decision")


def _is_tagged(row: Row, context: _Context) -> bool:
    """Tell whether an element that hides or quotes is open in this row, and note what stays open."""
    text = row.text
    is_tagged = bool(context.tag)
    if "<" not in text:
        return is_tagged
    code = _code_ranges(text)
    for match in _TAG.finditer(text):
        if any(start <= match.start() < end for start, end in code[:50]):
            continue
        is_tagged = True
        name = match[2].casefold()
        if match[1] and name == context.tag:
            context.tag = ""
        elif not match[1] and not context.tag:
            context.tag = name
            context.is_block_tag = match.start() == 0 and row.form is not _ITEM
    return is_tagged


def _code_ranges(text: str) -> list[tuple[int, int]]:
    runs = [(match.start(), len(match[0])) for match in _TICKS.finditer(text)]
    return [(runs[first][0], runs[last][0]) for first, last in _pairs([length for _, length in runs])]


def _pairs(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pair every run of backticks with the next one of its length, as code spans do."""
    later: dict[int, int] = {}
    partner = [-1] * len(lengths)
    for index in range(len(lengths) - 1, -1, -1):
        partner[index] = later.get(lengths[index], -1)
        later[lengths[index]] = index
    index = 0
    while index < len(lengths):
        if partner[index] >= 0:
            yield index, partner[index]
            index = partner[index]
        index += 1


def _end_block(context: _Context) -> None:
    """Hide the rows of a paragraph that a code span or a strikethrough runs across."""
    block, context.block = context.block, []
    if len(block) < 2 or not [row for row in block if "`" in row.text or "~" in row.text]:
        return
    runs = [
        (index, len(match[0]))
        for index, row in enumerate(block)
        if "`" in row.text
        for match in _TICKS.finditer(row.text)
    ]
    for first, last in _pairs([length for _, length in runs]):
        if runs[first][0] != runs[last][0]:
            for row in block[runs[first][0] : runs[last][0] + 1]:
                row.is_hidden = True
    is_open = False
    for row in block:
        toggles = is_strikethrough_open(row.text)
        row.is_hidden = row.is_hidden or is_open or toggles
        is_open = is_open != toggles
