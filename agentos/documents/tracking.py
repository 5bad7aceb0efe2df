"""Recognize findings from review to review, and a review that goes nowhere."""

from __future__ import annotations

import operator
import re
from collections.abc import Container, Iterable, Sequence

from agentos.documents.findings import Finding
from agentos.documents.headings import plain
from agentos.documents.words import WordIndex, keywords, likeness

Findings = Sequence[Finding]
Rounds = Sequence[set[str]]
"""The ids of the findings that hold up an approval after each round, the oldest first."""

_NUMBER = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3}){0,4})(?![0-9])")
ALIKE = 0.5
"""Share of common words from which two findings count as the same."""
RELATED = 0.15
"""Share of common words that suffices if both findings have the same id."""
PATIENCE = 2
"""Maximum number of rounds in a row without progress."""
_MOST_NAMES = 5


class KnownFindings:
    """The findings of earlier reviews, to be found again by id or by wording."""

    def __init__(self, earlier: Findings) -> None:
        by_id: dict[str, Finding] = {}
        for finding in earlier:
            id = finding.id
            by_id[id] = finding
        texts = []
        for finding in by_id.values():
            text = finding.text
            texts.append(text)
        self._by_id = by_id
        self._ids = tuple(by_id)
        self._index = WordIndex(texts)

    def find(self, finding: Finding, taken: Container[str]) -> str | None:
        """Return the id under which a finding is known, unless it is taken."""
        id = finding.id
        if id not in taken:
            same_id = self._by_id.get(id)
            # Reviewers number their findings anew, so an id alone proves nothing.
            if same_id and _is_related(finding, same_id):
                return id
        position = self._find_wording(finding.text)
        if position is None:
            return None
        id = self._ids[position]
        if id in taken:
            return None
        return id

    def _find_wording(self, text: str) -> int | None:
        """Return the position of the finding with the same words, or the most like it."""
        position = self._index.exact(text)
        if position is not None:
            return position
        nearest = self._index.nearest(text)
        if nearest is None:
            return None
        position, score = nearest
        if score < ALIKE:
            return None
        return position


def _is_related(one: Finding, other: Finding) -> bool:
    """Tell whether findings are in one section and category, or share some words."""
    if one.category is other.category:
        section = _name(one.section)
        other_section = _name(other.section)
        if section and section == other_section:
            return True
    words = keywords(one.text)
    other_words = keywords(other.text)
    score = likeness(words, other_words)
    return score >= RELATED


def _name(section: str) -> str:
    """Return the number of a section, else its bare title."""
    bare = section.strip()
    bare = bare.removeprefix("Section ")
    bare = bare.removeprefix("section ")
    bare = bare.lstrip("§ ")
    number = _NUMBER.match(bare)
    if number:
        return number[1]
    return plain(bare)


def find_standstill(rounds: Rounds) -> str:
    """Return why another round would not help, or nothing while there is progress."""
    if len(rounds) < 2:
        return ""
    *past, previous, last = rounds
    if not last:
        return ""
    number = len(rounds)
    # Every round may close findings and yet lead back to where an earlier one was.
    if last != previous and last in past:
        index = past.index(last)
        names = _names(last)
        other = index + 1
        return f"round {number} is back at the findings of round {other}: {names}"
    if number <= PATIENCE:
        return ""
    first = -PATIENCE - 1
    recent = rounds[first:]
    return _find_stop(recent)


def _find_stop(rounds: Rounds) -> str:
    """Return why these rounds in a row are no progress, empty if one of them is."""
    sizes = map(len, rounds)
    counts = list(sizes)
    later_counts = counts[1:]
    grows = map(operator.lt, counts, later_counts)
    if all(grows):
        numbers = map(str, counts)
        listed = ", ".join(numbers)
        return f"the findings grow from round to round: {listed}"
    later = rounds[1:]
    # A round that only adds to the one before has resolved nothing of it.
    keeps_all = map(operator.le, rounds, later)
    if all(keeps_all):
        last = rounds[-1]
        names = _names(last)
        return f"no finding was resolved in {PATIENCE} rounds: {names}"
    return ""


def _names(ids: Iterable[str]) -> str:
    ordered = sorted(ids)
    shown = ordered[:_MOST_NAMES]
    names = ", ".join(shown)
    more = len(ordered) - len(shown)
    if more:
        names += f" and {more} more"
    return names
