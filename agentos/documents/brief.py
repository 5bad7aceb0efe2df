"""Read a short brief: the problem, the wishes and the constraints."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agentos.documents.headings import Topic, is_metadata, plain, split_number, topic_of
from agentos.documents.issue import Question, read_question
from agentos.documents.markdown import (
    MAX_CHARACTERS,
    Section,
    items,
    paragraphs,
    scan,
    sections,
)
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

    @property
    def defects(self) -> _Texts:
        """Return what makes this brief unusable."""
        found = []
        if not self.title:
            found.append(
                "it has no title: begin it with a heading such as '# 7 - Remind"
                " borrowers'"
            )
        if not (self.problem or self.wishes):
            found.append("it states neither a problem nor a wish")
        return tuple(found)


@without_gc
def parse_brief(text: str) -> Brief:
    """Read a brief; never fails, see `Brief.defects`."""
    text = text[:MAX_CHARACTERS]
    lines = scan(text)
    found = sections(lines)
    title = ""
    number = None
    parts: dict[str, list[str]] = {part: [] for part in _TITLES}
    questions: list[Question] = []
    if found:
        head, *rest = found
        title, number = split_number(head.title)
        _collect(head, "", parts)
        for section in rest:
            if topic_of(section.title) is Topic.QUESTIONS:
                questions += map(read_question, items(section.body))
            else:
                _collect(section, _find_part(section.title), parts)
    else:
        parts["problem"] += paragraphs(lines)
    return Brief(
        title=title,
        number=number,
        problem=tuple(parts["problem"]),
        wishes=tuple(parts["wishes"]),
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


def _collect(section: Section, part: str, parts: dict[str, list[str]]) -> None:
    """Add list items and running text to a part.

    Below an unknown heading, list items are wishes and running text is the problem.
    """
    entries = []
    for item in items(section.body):
        texts = [item.text, *item.details]
        entries.append("; ".join(texts))
    running = [text for text in paragraphs(section.body) if not is_metadata(text)]
    if not entries:
        parts[part or "problem"] += running
        return
    parts[part or "wishes"] += entries
    if part in ("", "problem"):
        parts["problem"] += running
