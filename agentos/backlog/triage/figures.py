"""Find statements that give different figures for the same thing.

Two statements are compared only if they are the same sentence except for one bounded
figure with a unit, such as `at most 10 items`. Anything more would need an
understanding of English, and a wrong complaint costs more trust than a missed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from agentos.documents.words import Figure, code_spans, figures, normalize

_BOUNDED = re.compile(
    r"(?:(?P<most>\b(?:at most|up to|within|(?:no|not) (?:more|longer|larger) than)|≤|<=)"
    r"|(?P<least>\b(?:at least|(?:no|not) (?:less|fewer|shorter) than)|≥|>=)"
    r"|(?P<exact>\b(?:exactly|defaults to|lasts|expires after)))"
    r"\s*(?P<figure>\d[\d,]{0,15}(?:\.\d{1,9})?\s?(?:%|[a-z]{1,20}\b))",
    re.IGNORECASE,
)
_LONGEST = 4_000
_MOST_IN_A_STATEMENT = 8
_MOST_OF_A_SUBJECT = 8


@dataclass(frozen=True, slots=True)
class Measure:
    """A bounded figure and its sentence."""

    statement: str
    subject: str
    """The words of the sentence without the figure and its bound."""
    bound: str
    """`most`, `least` or `exact`."""
    figure: Figure
    owner: str
    """The name of the item that states it."""

    @property
    def names_a_thing(self) -> bool:
        """Whether the sentence names what it measures as code: only then it means the same
        in another item.
        """
        return bool(code_spans(self.statement))


class Measures:
    """The measures read so far, by subject and unit."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], list[Measure]] = {}

    def find_conflict(self, measure: Measure) -> Measure | None:
        """Return the first known measure with another figure."""
        for known in self._known.get(_key(measure), ()):
            if _conflict(known, measure):
                return known
        return None

    def add(self, measure: Measure) -> None:
        """Remember a measure."""
        # A few are enough to find a conflict; all of them would make long lists slow.
        same = self._known.setdefault(_key(measure), [])
        if len(same) < _MOST_OF_A_SUBJECT:
            same.append(measure)


def read_measures(statement: str, owner: str) -> Iterator[Measure]:
    """Yield the bounded figures of a statement that have a unit and a subject."""
    text = statement[:_LONGEST]
    for match in islice(_BOUNDED.finditer(text), _MOST_IN_A_STATEMENT):
        figure = figures(match["figure"])[0]
        before = text[: match.start()]
        after = text[match.end() :]
        subject = normalize(f"{before} {after}")
        has_subject = " " in subject or bool(code_spans(text))
        if figure.unit and has_subject:
            bound = _bound_of(match)
            yield Measure(statement, subject, bound, figure, owner)


def _bound_of(match: re.Match[str]) -> str:
    if match["exact"]:
        return "exact"
    if match["most"]:
        return "most"
    return "least"


def _key(measure: Measure) -> tuple[str, str]:
    return measure.subject, measure.figure.unit


def _conflict(one: Measure, other: Measure) -> bool:
    """Return whether two measures of the same subject exclude each other."""
    difference = one.figure.value - other.figure.value
    if abs(difference) < 1e-9:
        return False
    if one.bound == other.bound:
        return True
    # At most 10 and at least 5 agree; at least 10 and at most 5 do not.
    larger, smaller = one, other
    if difference < 0:
        larger, smaller = other, one
    if larger.bound == "most":
        return False
    return smaller.bound != "least"
