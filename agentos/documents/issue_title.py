"""Find the title of an issue or a brief, whatever shape it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agentos.documents.headings import (
    Topic,
    is_form_heading,
    is_metadata,
    named_topic,
    split_label,
    split_number,
    topic_of,
)
from agentos.documents.markdown import Line, Section, sections, split_lines
from agentos.documents.shapes import is_front_matter, read_shape
from agentos.documents.statements import LONGEST, has_words, rows_of, sentences
from agentos.documents.without_gc import without_gc

_LONGEST = 150
_ENDS = (".", "!", "?")
_MOST_ROWS = 20
"""The rows among which the first sentence is looked for."""
_SUBJECTS = frozenset({"subject", "title", "betreff", "titel", "objet", "asunto"})
_COURTESY = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|hallo|liebe[rs]?|bonjour"
    r"|hola|thanks|thank you|cheers|(?:best |kind )?regards|viele grüße|merci|gracias)"
    r"\b[^.?:]{0,60}",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"^(?:issue-)?#?[0-9]*[-_. ]*", re.IGNORECASE)
_BETWEEN = re.compile(r"[-_.\s]+")


@dataclass(frozen=True, slots=True)
class Title:
    """A title, with the number in it and the section that it heads."""

    text: str = ""
    number: int | None = None
    head: Section | None = None
    """None if the title is no heading."""
    is_sentence: bool = False
    """Whether it is the first of several sentences, which say something themselves."""


def opening_of(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines before the first heading."""
    opening = []
    for line in lines:
        if line.level:
            break
        opening.append(line)
    return tuple(opening)


def find_title(lines: Sequence[Line], found: Sequence[Section]) -> Title:
    """Return the title: the first heading that names no part, else the first line."""
    opening = _first_line(opening_of(lines))
    for section in found:
        if _may_be_title(section):
            title, number = split_number(section.title)
            if section.level > 1 and opening.text:
                break
            return Title(title, number, section)
        # A heading such as `# Bug report` may stand above the title.
        if any(line.is_text for line in section.body):
            break
    if opening.text:
        return opening
    for section in found:
        if topic_of(section.title) is Topic.ASIDE:
            continue
        first = _first_line(section.body)
        if first.text:
            return first
    return Title()


def _may_be_title(section: Section) -> bool:
    """Tell whether a heading names no part of an issue."""
    title, number = split_number(section.title)
    if not title:
        return False
    if number is not None:
        return True
    if named_topic(title) is not None:
        return False
    return not is_form_heading(title)


@without_gc
def with_title(text: str, name: str) -> str:
    """Return a text with a name as its title if it has none of its own."""
    if not name:
        return text
    for takes_copies in (False, True):
        lines = read_shape(text, takes_copies=takes_copies)
        title = find_title(lines, sections(lines))
        if title.text:
            return text
    rows = split_lines(text)
    if not is_front_matter(rows):
        return f"# {name}\n\n{text}"
    rows.insert(1, f"title: {name}")
    return "\n".join(rows)


def title_of_file(stem: str) -> str:
    """Return the title that the name of a file gives, empty if it is a number."""
    name = _NUMBER.sub("", stem, count=1)
    words = _BETWEEN.split(name)
    title = " ".join(words).strip()
    first = title[:1]
    return first.upper() + title[1:_LONGEST]


def _first_line(lines: Iterable[Line]) -> Title:
    """Return the first line of prose that says something, cut to a sentence."""
    for _, rows in rows_of(lines):
        for number, row in enumerate(rows):
            label, value = split_label(row)
            name = label.casefold()
            if value and name in _SUBJECTS:
                return _make_title(value)
            if _says_something(row):
                rest = rows[number : number + _MOST_ROWS]
                return _make_first(rest)
    return Title()


def _make_first(rows: Sequence[str]) -> Title:
    first, *more = sentences(rows)
    title = _make_title(first)
    is_row = first == rows[0] and not first.endswith(_ENDS)
    is_sentence = bool(more) and not is_row
    return replace(title, is_sentence=is_sentence)


def _says_something(row: str) -> bool:
    text = row[:LONGEST]
    if is_metadata(text):
        return False
    if is_courtesy(text):
        return False
    return has_words(text)


def is_courtesy(text: str) -> bool:
    """Tell whether a line only greets or thanks."""
    bare = text.rstrip(" ,!.:")
    return _COURTESY.fullmatch(bare) is not None


def _make_title(text: str) -> Title:
    words = text.split()
    flat = " ".join(words)
    title, number = split_number(flat.strip("*_ "))
    if title.endswith((".", ":")) and not title.endswith(".."):
        title = title[:-1]
    if len(title) > _LONGEST:
        start = title[:_LONGEST]
        whole_words, _, _ = start.rpartition(" ")
        title = f"{whole_words or start}…"
    return Title(title, number)
