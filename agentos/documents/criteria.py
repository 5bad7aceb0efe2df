"""Find what decides whether an issue is done, under whatever heading it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto

from agentos.documents.headings import Topic
from agentos.documents.markdown import Line, Lines, Section, items
from agentos.documents.statements import (
    Texts,
    entry_text,
    is_said,
    statements,
    wishes,
    wishes_in_code,
)

Placed = Sequence[tuple[Section, Topic | None, str]]
"""Sections with their topics and groups."""


class Place(IntEnum):
    """Where criteria are looked for; the first place that has any counts."""

    CRITERIA = auto()
    REQUIREMENTS = auto()
    DONE = auto()
    GOALS = auto()
    PROPOSAL = auto()
    LOOSE = auto()
    """The text below the title, and sentences that demand something."""
    UNKNOWN = auto()
    """Lists below headings that name no known part."""
    CODE = auto()


_PLACES = {
    Topic.CRITERIA: Place.CRITERIA,
    Topic.REQUIREMENTS: Place.REQUIREMENTS,
    Topic.DONE: Place.DONE,
    Topic.PROPOSAL: Place.PROPOSAL,
}


@dataclass(frozen=True, slots=True)
class Criteria:
    """Criteria, and whether they stand in a section of their own."""

    texts: Texts = ()
    are_named: bool = False


def find_criteria(
    title: str, opening: Lines, placed: Placed, lines: Iterable[Line]
) -> Criteria:
    """Return the criteria of an issue; `opening` are the lines below its title."""
    found: dict[Place, list[str]] = {place: [] for place in Place}
    found[Place.LOOSE] += wishes(opening, takes_entries=True)
    for section, topic, _ in placed:
        body = section.body
        if topic in _PLACES:
            found[_PLACES[topic]] += statements(body)
            continue
        if topic in (Topic.OBJECTIVE, Topic.CONTEXT, None):
            found[Place.LOOSE] += wishes(body, takes_entries=False)
        entries = filter(is_said, map(entry_text, items(body)))
        if topic is Topic.OBJECTIVE:
            found[Place.GOALS] += entries
        elif topic is None:
            found[Place.UNKNOWN] += entries
    found[Place.CODE] += wishes_in_code(lines)
    for place, texts in found.items():
        distinct = _distinct(texts, title)
        if distinct:
            return Criteria(distinct, place is Place.CRITERIA)
    return Criteria()


def _distinct(texts: Iterable[str], title: str) -> Texts:
    """Return each text once, without one that the title is."""
    seen = {_flatten(title)}
    kept = []
    for text in texts:
        flat = _flatten(text)
        if flat not in seen:
            seen.add(flat)
            kept.append(text)
    return tuple(kept)


def _flatten(text: str) -> str:
    words = text.casefold().split()
    return " ".join(words).rstrip(".!")
