"""Tell which section of a design a heading opens, however it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from agentos.documents.headings import plain

SECTION_TITLES: Mapping[int, str] = MappingProxyType(
    {
        1: "Context & Goal",
        2: "Proposed Changes",
        3: "Requirements",
        4: "Alternatives Considered",
        5: "Data & Fixtures",
        6: "Diagram",
        7: "Security & Safety Considerations",
        8: "Performance & Cost Considerations",
        9: "Legal & Compliance",
        10: "Verification & Testing",
        11: "Risks & Mitigations",
        12: "Definition of Done",
    }
)
_ALSO: Mapping[int, str] = {
    1: (
        "context|context goals|goal context|context objective|background goal|overview"
        " goal|goal"
    ),
    2: "proposed change|changes|proposed solution",
    3: "requirement|functional requirements",
    4: "alternatives|alternative|options",
    5: "data|fixtures|data test fixtures|data sources fixtures",
    6: "diagrams|architecture diagram|sequence diagram",
    7: "security|safety|security safety|safety security|security privacy",
    8: "performance|performance cost|cost performance|performance costs",
    9: "legal|compliance",
    10: (
        "testing|verification|testing verification|test plan|tests|verification test"
        " plan"
    ),
    11: "risks|risk|risks mitigation|risk mitigation|risk mitigations",
    12: "done|dod",
}
_NUMERALS = "I II III IV V VI VII VIII IX X XI XII"
_ROMAN = dict(zip(_NUMERALS.split(), range(1, 13), strict=True))
_DIGITS = re.compile(r"(?=.{1,6}\Z)[0-9][0-9.]*")
_LOG = frozenset(
    {"review log", "appendix review log", "appendix a review log", "review history"}
)
_SUBJECTS = ("original ", "source ", "github ", "input ", "full ")
_ECHOES = (
    "instructions",
    "prompt",
    "system prompt",
    "previous draft",
    "findings to resolve",
    "issue text",
    "issue body",
    "your task",
    "what to write",
    "how to answer",
    "output format",
    "issue id",
    "issue",
)


_FILLERS = ("and", "considerations", "considered", "section")


def _name(title: str) -> str:
    words = plain(title).split()
    return " ".join([word for word in words if word not in _FILLERS])


_BY_NAME: dict[str, int] = {}
for _number, _title in SECTION_TITLES.items():
    _names = [_name(_title), *_ALSO[_number].split("|")]
    _BY_NAME.update(dict.fromkeys(_names, _number))


@dataclass(frozen=True, slots=True)
class Label:
    """The number and the words of a heading."""

    number: str
    """`3` or `10.1`, or an empty string."""
    rest: str
    section: int | None
    """The section that the words name, or None if they name none."""

    @property
    def whole_number(self) -> int:
        """Return the number if it is a whole one, else 0."""
        if not self.number.isdecimal():
            return 0
        return int(self.number)


@lru_cache(maxsize=256)
def read_label(title: str) -> Label:
    """Split a heading such as `**Section IV: Alternatives**` or `10.1) Scenarios`."""
    text = title[:300].replace("**", "").replace("__", "")
    text = text.strip(" \t*_`")
    is_named = text.casefold().startswith(("section ", "§", "part "))
    if text.startswith("§"):
        text = text.lstrip("§").strip()
    elif is_named:
        _, _, text = text.partition(" ")
        text = text.strip()
    token, _, rest = text.partition(" ")
    number = token.strip("()[]").rstrip(".):-")
    is_marked = is_named or token != number
    rest = rest.strip()
    words = rest.lstrip(".):-\u2013— ").strip()
    if _DIGITS.fullmatch(number):
        # A bare number may be anything, such as a year.
        if is_marked or rest:
            return _label(number, words)
    elif number in _ROMAN and is_marked and rest:
        return _label(str(_ROMAN[number]), words)
    return _label("", text)


def _label(number: str, rest: str) -> Label:
    section = None
    if len(rest) <= 120:
        section = _BY_NAME.get(_name(rest))
    return Label(number, rest, section)


def is_log(title: str) -> bool:
    """Tell whether a heading opens the review log."""
    # Few headings contain the word, and finding it is much faster than `plain`.
    return "review" in title.casefold() and plain(title) in _LOG


@lru_cache(maxsize=1024)
def is_echo(title: str) -> bool:
    """Tell whether a heading opens a copy of the prompt rather than a part of a design."""
    name = plain(title.replace("(", " ").replace(")", " "))
    for subject in _SUBJECTS:
        name = name.removeprefix(subject)
    if name in _ECHOES:
        return True
    word, _, rest = name.partition(" ")
    number, _, _ = rest.partition(" ")
    return word == "issue" and number.isdecimal()
