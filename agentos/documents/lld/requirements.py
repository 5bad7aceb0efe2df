"""Read the requirements of section 3, however they are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.lld.citations import requirement_id, split_id
from agentos.documents.lld.model import LldRequirement, LldSection
from agentos.documents.markdown import (
    ListItem,
    Section,
    items,
    paragraphs,
    prose_rows,
)
from agentos.documents.tables import Table, tables

Requirements = tuple[LldRequirement, ...]

_WRITTEN = re.compile(r"\s*(\d{1,7})[.)]")
_PLAIN_ID = re.compile(r"(?=\D*\d)[A-Za-z0-9._-]{1,20}")
_ID = ("id", "#", "req", "no")
_TEXT = ("requirement", "description", "text", "statement", "behavio")


def read_requirements(section: LldSection) -> Requirements:
    """Return numbered items and items with an id, else rows with ids, else paragraphs and
    headings with ids, else all items.
    """
    listed = items(section.lines)
    chosen = []
    for item in listed:
        own, _ = split_id(item.text)
        if own or item.is_ordered:
            chosen.append(item)
    if chosen:
        return _read_items(section, chosen)
    found = tuple(_read_tables(section)) or tuple(_read_marked(section))
    if found:
        return found
    return _read_items(section, listed)


def _read_items(section: LldSection, chosen: Sequence[ListItem]) -> Requirements:
    """Return items as requirements.

    One that names its own id keeps it; the others have the number that is written before
    them, or are counted from 1.
    """
    numbers = _written_numbers(section, chosen)
    found = []
    for item, number in zip(chosen, numbers, strict=True):
        id, text = split_id(item.text)
        if not id:
            id = f"R{number}"
        if text:
            requirement = LldRequirement(id, text, line=item.line)
            found.append(requirement)
    return tuple(found)


def _written_numbers(section: LldSection, chosen: Sequence[ListItem]) -> Sequence[int]:
    """Return the numbers before the items, or their positions unless all differ."""
    counted = range(1, len(chosen) + 1)
    rows = {}
    for line in section.lines:
        rows[line.number] = line.text
    written = []
    for item in chosen:
        found = _WRITTEN.match(rows[item.line])
        if found is None:
            return counted
        number = int(found[1])
        written.append(number)
    if len(set(written)) < len(written):
        return counted
    return written


def _read_tables(section: LldSection) -> Iterator[LldRequirement]:
    for table in tables(section.lines):
        id_column = table.column(*_ID)
        if id_column is None:
            continue
        text_column = _text_column(table, id_column)
        if text_column is None:
            continue
        rows = table.numbered_rows()
        for number, (line, row) in enumerate(rows, 1):
            id = row[id_column].strip("`* ")
            text = row[text_column]
            own = requirement_id(id)
            if not own and _PLAIN_ID.fullmatch(id):
                own = id
            if not own:
                own = f"R{number}"
                text = id or text
            if text:
                yield LldRequirement(own, text, line=line)


def _text_column(table: Table, id_column: int) -> int | None:
    """Return the column with the words, else the first one beside the ids."""
    for name in _TEXT:
        column = table.column(name)
        if column is None:
            continue
        if column != id_column:
            return column
    for column in range(len(table.header)):
        if column != id_column:
            return column
    return None


def _read_marked(section: LldSection) -> Iterator[LldRequirement]:
    """Yield paragraphs and headings such as `**R1.** Every crate has a label`."""
    for part in section.parts:
        own, text = split_id(part.title)
        is_own = part.line != section.line
        if own and is_own:
            body = " ".join(paragraphs(part.body))
            yield LldRequirement(own, text or body, line=part.line)
        else:
            yield from _read_paragraphs(part)


def _read_paragraphs(part: Section) -> Iterator[LldRequirement]:
    for line, rows in prose_rows(part.body).items():
        whole = " ".join(rows)
        own, text = split_id(whole)
        if own and text:
            yield LldRequirement(own, text, line=line)
