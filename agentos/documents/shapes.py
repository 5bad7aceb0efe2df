"""Bring the shapes in which people write into one: headings, and text below them.

`read_shape` is the entry point. A bold line, a name such as `Expected behavior` alone on
a line and a label such as `Expected: it works` become headings. What a machine printed
and what is said twice become comments, which count as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentos.documents.headings import Topic, named_topic, plain, split_label, topic_of
from agentos.documents.markdown import Form, Line, LineKind, scan_rows, split_lines

_LEVEL = 6
"""The level of what is a heading only by its look."""
_LONGEST = 500
"""How much of a line decides what it is."""
_LONGEST_NAME = 60
_LONGEST_FRONT = 50
"""The most lines that the settings above a text may have."""
_LOGS = frozenset({"appendix review log", "review log"})
_COPIES = frozenset(
    {
        "brief",
        "original brief",
        "original issue",
        "original request",
        "original report",
        "original text",
        "previous draft",
    }
)
_LABELED = frozenset({Topic.CRITERIA, Topic.REQUIREMENTS, Topic.CONTEXT, Topic.ASIDE})
"""The topics whose names may stand before their text, as in `Expected: it works`."""
_BOLD = re.compile(r"(?:\*\*([^*]{1,150})\*\*|__([^_]{1,150})__)\s*:?\s*")
_TEXTILE = re.compile(r"h[1-6]\. +(?=\S)")
_TRACEBACK = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|Exception in thread |thread '.*' panicked)"
)
_RAISED = re.compile(r"[\w.]+(?::|$)")
_PRINTED = re.compile(
    r"""\s*(?:
        File\ "[^"]*",\ line\ \d
        | at\ [\w$.<>/]+\(
        | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d
        | \[?\d\d:\d\d:\d\d
        | \[(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)\]
        | (?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)[ :]
        | >>>[ ]
        | \$[ ]
        | During\ handling\ of\ the\ above\ exception
        | The\ above\ exception\ was\ the\ direct\ cause
        | Caused\ by:[ ]
    )""",
    re.VERBOSE,
)
_COMMENTS = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"title:\s*(.+)", re.IGNORECASE)

Rows = list[str]


def read_shape(text: str, *, takes_copies: bool = False) -> tuple[Line, ...]:
    """Classify every line of an issue or a brief.

    Quotes, folded parts (`<details>`) and copies of an original are left out, unless
    `takes_copies` is set.
    """
    rows = split_lines(text)
    rows = _without_front_matter(rows)
    names = _LOGS
    if takes_copies:
        rows = list(map(_unfold, rows))
    else:
        names = _LOGS | _COPIES
    lines: Iterable[Line] = scan_rows(rows)
    if not takes_copies:
        lines = _hide_folded(lines)
    lines = _hide_sections(lines, names)
    lines = _hide_printed(lines)
    lines = _raise_headings(lines)
    return tuple(lines)


def is_blank(text: str) -> bool:
    """Tell whether a text has nothing but comments."""
    shown = _COMMENTS.sub("", text)
    return not shown.strip()


def is_front_matter(rows: Rows) -> bool:
    """Tell whether a text begins with settings between `---` lines."""
    return _end_of_front_matter(rows) > 0


def _end_of_front_matter(rows: Rows) -> int:
    """Return the index of the line that ends the settings above a text, 0 without."""
    if not rows:
        return 0
    first, *front = rows[:_LONGEST_FRONT]
    if first.strip() != "---":
        return 0
    for number, row in enumerate(front, 1):
        bare = row.strip()
        if bare == "---":
            return number
        is_entry = bare.startswith(("-", "#"))
        if bare and ":" not in bare and not is_entry:
            return 0
    return 0


def _without_front_matter(rows: Rows) -> Rows:
    """Replace the settings above a text by the title in them."""
    end = _end_of_front_matter(rows)
    if not end:
        return rows
    heading = ""
    for row in rows[1:end]:
        bare = row[:_LONGEST].strip()
        found = _FRONT_TITLE.fullmatch(bare)
        if found:
            title = found[1].strip("\"' ")
            heading = f"# {title}"
    blank = [""] * end
    rest = rows[end + 1 :]
    return [heading, *blank, *rest]


def _unfold(row: str) -> str:
    """Return a row without the marks of a quote, empty if it only folds others."""
    bare = row.lstrip()
    # The prompt of Python is no quote.
    if bare.startswith(">") and not bare.startswith(">>>"):
        row = bare.lstrip("> ")
        bare = row
    tag = bare[:10].casefold()
    if tag.startswith(("<details", "</details", "<summary")):
        return ""
    return row


def _hide(line: Line) -> Line:
    if line.kind is LineKind.BLANK:
        return line
    return line._replace(kind=LineKind.COMMENT, level=0, item=0)


def _hide_folded(lines: Iterable[Line]) -> Iterator[Line]:
    """Hide quotes and what is folded."""
    depth = 0
    for line in lines:
        closed = 0
        is_quote = False
        if line.is_text:
            row = line.text.casefold()
            tag = row.lstrip()
            if tag.startswith("<details"):
                depth += 1
            closed = row.count("</details>")
            is_quote = line.form is Form.QUOTE
        if depth or is_quote:
            line = _hide(line)
        yield line
        depth = max(0, depth - closed)


def _hide_sections(lines: Iterable[Line], names: frozenset[str]) -> Iterator[Line]:
    """Hide sections with some names, up to the next heading of their level."""
    hidden = 0
    for line in lines:
        level = line.level
        if hidden and 0 < level <= hidden:
            hidden = 0
        if level and not hidden:
            name = plain(line.text)
            if name in names:
                hidden = level
        if hidden:
            line = _hide(line)
        yield line


def _hide_printed(lines: Iterable[Line]) -> Iterator[Line]:
    """Hide tracebacks and lines of logs that stand outside of code."""
    in_traceback = False
    for line in lines:
        if not line.is_text or line.is_row:
            in_traceback = False
            yield line
            continue
        row = line.text[:_LONGEST].rstrip()
        is_hidden = in_traceback
        if _TRACEBACK.match(row):
            in_traceback = True
            is_hidden = True
        elif not in_traceback:
            is_hidden = _PRINTED.match(row) is not None
        elif _RAISED.match(row):
            in_traceback = False
        if is_hidden:
            line = _hide(line)
        yield line


def _raise_headings(lines: Iterable[Line]) -> Iterator[Line]:
    """Make headings of the lines that are meant as such."""
    # The paragraph in which a heading was found: its other lines belong to no list.
    block = 0
    # Whether that heading ends with its paragraph, as a label does.
    is_label = False
    # Comments are others' text: what looks like a heading in them is none.
    is_comment = False
    for line in lines:
        if line.kind is LineKind.HEADING and line.level <= 2:
            is_comment = plain(line.text) == "comments"
        if is_comment:
            yield line
            continue
        if is_label and line.kind is LineKind.BLANK:
            is_label = False
            yield _heading(line, "")
        if not _may_head(line):
            yield line
            continue
        if block and line.block == block and line.depth:
            line = line._replace(depth=0)
        name, rest = _read_heading(line)
        if name:
            block = line.block
            is_label = bool(rest)
            yield _heading(line, name)
            line = line._replace(text=rest, depth=0)
        if line.text:
            yield line


def _may_head(line: Line) -> bool:
    if not line.is_text or line.item:
        return False
    if line.form is not Form.PARAGRAPH:
        return False
    first = line.text[:1]
    return not first.isspace()


def _heading(line: Line, name: str) -> Line:
    return line._replace(
        text=name,
        kind=LineKind.HEADING,
        level=_LEVEL,
        depth=0,
        item=0,
    )


def _read_heading(line: Line) -> tuple[str, str]:
    """Return the heading that a line is or begins with, and the text after it."""
    row = line.text.strip()
    numbered = _TEXTILE.match(row)
    if numbered:
        return row[numbered.end() :], ""
    bold = _BOLD.fullmatch(row)
    if bold:
        name = bold[1] or bold[2]
        return name.strip(" :"), ""
    is_short = len(row) <= _LONGEST_NAME
    if is_short and row.endswith(":") and topic_of(row) is not None:
        return row.rstrip(": "), ""
    first = row[:1]
    if not first.isupper() and not row.startswith("**"):
        return "", ""
    is_first = line.block == line.number
    if is_short and is_first and named_topic(row) is not None:
        return row, ""
    start = row[:_LONGEST]
    label, value = split_label(start)
    if value and named_topic(label) in _LABELED:
        _, _, rest = row.partition(":")
        return label, rest.strip("* ")
    return "", ""
