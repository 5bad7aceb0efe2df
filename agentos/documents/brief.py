"""Read a short brief: the problem, the wishes and the constraints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentos.documents.headings import Topic, is_metadata, plain, topic_of
from agentos.documents.issue import Question, parse_issue, read_question
from agentos.documents.issue_title import find_title, opening_of
from agentos.documents.markdown import (
    MAX_CHARACTERS,
    Line,
    items,
    paragraphs,
    sections,
)
from agentos.documents.shapes import read_shape
from agentos.documents.statements import statements
from agentos.documents.without_gc import without_gc

_TITLES = {
    "failures": "what goes wrong|failure|when it fails|error|edge case",
    "constraints": (
        "constraint|limit|must not|keep|boundar|rules|non goal|out of scope|but"
    ),
    "problem": (
        "problem|context|background|why|motivation|situation|today|pain|what happens"
    ),
    "wishes": ("wish|want|idea|request|what we|goal|need|proposal|should|feature|ask"),
}
"""How a word in the headings of each part begins; the first part that fits counts."""
_PATTERNS = {
    part: re.compile(f"(?:^|.* )(?:{titles})") for part, titles in _TITLES.items()
}
_STATED = (Topic.CRITERIA, Topic.REQUIREMENTS, Topic.DONE)
"""What an issue would call its criteria is a wish in a brief."""
_Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief as data."""

    title: str = ""
    number: int | None = None
    problem: _Texts = ()
    wishes: _Texts = ()
    constraints: _Texts = ()
    failures: _Texts = ()
    questions: tuple[Question, ...] = ()
    text: str = field(default="", repr=False)


@without_gc
def parse_brief(text: str) -> Brief:
    """Read a brief of any shape; never fails."""
    text = text[:MAX_CHARACTERS]
    lines = read_shape(text)
    found = sections(lines)
    title = find_title(lines, found)
    parts: dict[str, list[str]] = {part: [] for part in _TITLES}
    questions: list[Question] = []
    opening = opening_of(lines)
    if title.head is not None:
        opening += title.head.body
    _collect(opening, "", parts)
    for section in found:
        if section is title.head:
            continue
        topic = topic_of(section.title)
        part = _find_part(section.title)
        if topic is Topic.QUESTIONS:
            questions += map(read_question, items(section.body))
        elif topic in _STATED and not part:
            parts["wishes"] += statements(section.body)
        elif topic is not Topic.ASIDE:
            _collect(section.body, part, parts)
    name = title.text
    wishes = tuple(parts["wishes"])
    if not (name and wishes):
        # As an issue it may say more: in sentences, in what it quotes.
        issue = parse_issue(text)
        story = filter(None, [issue.user_story])
        name = name or issue.title
        wishes = wishes or issue.criteria or tuple(story)
    return Brief(
        title=name,
        number=title.number,
        problem=tuple(parts["problem"]),
        wishes=wishes,
        constraints=tuple(parts["constraints"]),
        failures=tuple(parts["failures"]),
        questions=tuple(questions),
        text=text,
    )


def _find_part(title: str) -> str:
    """Return the part that a heading begins, empty if it is unknown."""
    name = plain(title)
    for part, pattern in _PATTERNS.items():
        if pattern.match(name):
            return part
    return ""


def _collect(lines: Sequence[Line], part: str, parts: dict[str, list[str]]) -> None:
    """Add list items and running text to a part.

    Below an unknown heading, list items are wishes and running text is the problem.
    """
    entries = []
    for item in items(lines):
        texts = [item.text, *item.details]
        entries.append("; ".join(texts))
    running = [text for text in paragraphs(lines) if not is_metadata(text)]
    if not entries:
        parts[part or "problem"] += running
        return
    parts[part or "wishes"] += entries
    if part in ("", "problem"):
        parts["problem"] += running
