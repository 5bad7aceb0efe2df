"""Find the limits that a sentence sets on a count or a size, and the values that test them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOUND = re.compile(
    r"(?P<upper>\bmax(?:imum)?\b|\bat most\b|\bcapped at\b|\blimit(?:ed)? (?:of|to)\b|\bup to\b|\bno more than\b"
    r"|\bmore than\b|\bover\b|\blarger than\b|\blonger than\b|\bexceeds?\b|<=|≤|>)"
    r"|(?P<lower>\bat least\b|\bmin(?:imum)?\b|\bfewer than\b|\bless than\b|\bshorter than\b|>=|≥|<)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w#./{$-])(\d[\d,]{0,11}(?:\.\d{1,9})?)( ?(?:%|[A-Za-z]{1,20}))?")
_CODE = re.compile(r"`[^`]{0,300}`")
_REACH = 40
_CONTINUOUS = frozenset(
    (
        "%",
        "s",
        "ms",
        "sec",
        "secs",
        "second",
        "seconds",
        "min",
        "mins",
        "minute",
        "minutes",
        "h",
        "hour",
        "hours",
        "percent",
    )
)


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit on a count or a size: its value, its unit as written, and which side lies beyond it."""

    value: int
    unit: str
    is_upper: bool

    @property
    def beyond(self) -> int:
        """Return the first whole value on the other side of the limit."""
        return self.value + 1 if self.is_upper else self.value - 1


def bounds(text: str) -> tuple[Bound, ...]:
    """Return the limits on counts and sizes, leaving out times and shares, which have no next value."""
    found = []
    text = _CODE.sub(lambda span: " " * len(span[0]), text[:5000])
    for mark in _BOUND.finditer(text):
        number = _NUMBER.search(text, mark.end(), mark.end() + _REACH)
        if number is None or "," in text[mark.end() : number.start()]:
            continue
        unit = (number[2] or "").strip()
        if unit.casefold() in _CONTINUOUS or "." in number[1]:
            continue
        found.append(Bound(int(number[1].replace(",", "")), unit, mark["upper"] is not None))
    return tuple({bound.value: bound for bound in found}.values())
