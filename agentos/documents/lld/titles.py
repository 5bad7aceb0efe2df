"""Tell which section of a design a heading opens, however it is numbered or marked."""

from __future__ import annotations

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
    1: "context|context goals|goal context|context objective|background goal|overview goal|goal",
    2: "proposed change|changes|proposed solution",
    3: "requirement|functional requirements",
    4: "alternatives|alternative|options",
    5: "data|fixtures|data test fixtures|data sources fixtures",
    6: "diagrams|architecture diagram|sequence diagram",
    7: "security|safety|security safety|safety security|security privacy",
    8: "performance|performance cost|cost performance|performance costs",
    9: "legal|compliance",
    10: "testing|verification|testing verification|test plan|tests|verification test plan",
    11: "risks|risk|risks mitigation|risk mitigation|risk mitigations",
    12: "done|dod",
}
_ROMAN = {
    **{"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6},
    **{"VII": 7, "VIII": 8, "IX": 9, "X": 10, "XI": 11, "XII": 12},
}
_LOG = frozenset({"review log", "appendix review log", "appendix a review log", "review history"})
_SUBJECTS = ("original ", "source ", "github ", "input ", "full ")
_ECHOES = (
    *("instructions", "prompt", "system prompt", "previous draft", "findings to resolve", "issue text", "issue body"),
    *("your task", "what to write", "how to answer", "output format", "issue id", "issue"),
)


def _name(title: str) -> str:
    words = [word for word in plain(title).split() if word not in ("and", "considerations", "considered", "section")]
    return " ".join(words)


_BY_NAME: Mapping[str, int] = {
    **{name: number for number, names in _ALSO.items() for name in names.split("|")},
    **{_name(title): number for number, title in SECTION_TITLES.items()},
}


@dataclass(frozen=True, slots=True)
class Label:
    """What a heading says: the number as written in digits, such as `3` or `10.1`, and the rest."""

    number: str
    rest: str
    section: int | None
    """The section that the words name, or None when they name none."""

    @property
    def whole_number(self) -> int:
        """Return the number when it is that of a section, else 0."""
        return int(self.number) if self.number.isdecimal() else 0


@lru_cache(maxsize=1024)
def read_label(title: str) -> Label:
    """Split a heading such as `**Section IV: Alternatives**` or `10.1) Scenarios`."""
    text = title[:300].replace("**", "").replace("__", "").strip(" \t*_`")
    lowered = text.casefold()
    is_named = lowered.startswith(("section ", "§", "part "))
    if is_named:
        text = text.lstrip("§").strip() if text.startswith("§") else text.split(" ", 1)[1].strip()
    token, rest = _first_token(text)
    digits = token.strip("()[]").rstrip(".):-")
    if 0 < len(digits) <= 6 and digits.replace(".", "").isdecimal() and digits.isascii() and digits[0] != ".":
        is_marked = is_named or token != digits or bool(rest)
        return _label(digits, _without_mark(rest)) if is_marked else _label("", text)
    if digits in _ROMAN and (is_named or token != digits) and rest:
        return _label(str(_ROMAN[digits]), _without_mark(rest))
    return _label("", text)


def _label(number: str, rest: str) -> Label:
    return Label(number, rest, _BY_NAME.get(_name(rest)) if len(rest) <= 120 else None)


def _first_token(text: str) -> tuple[str, str]:
    head, _, rest = text.partition(" ")
    return head, rest.strip()


def _without_mark(rest: str) -> str:
    return rest.lstrip(".):-\u2013— ").strip()


def is_log(title: str) -> bool:
    """Tell whether a heading opens the review log."""
    return "review" in title.casefold() and plain(title) in _LOG


@lru_cache(maxsize=1024)
def is_echo(title: str) -> bool:
    """Tell whether a heading opens what the drafter was given rather than a part of a design."""
    name = plain(title.replace("(", " ").replace(")", " "))
    for subject in _SUBJECTS:
        name = name.removeprefix(subject)
    first, _, rest = name.partition(" ")
    if first == "issue" and (not rest or rest.split()[0].isdecimal()):
        return True
    return name in _ECHOES
