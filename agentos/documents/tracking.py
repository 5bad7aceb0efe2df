"""Track findings from review to review: new, repeated, reopened or closed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.headings import plain
from agentos.documents.lld.parse import heading_number
from agentos.documents.markdown import scan, sections
from agentos.documents.words import WordIndex, keywords, likeness

Findings = Sequence[Finding]
Rounds = Sequence[Findings]
ChangeDetector = Callable[[str], bool]
"""Tells whether a revision changed a section, given its number or title."""

ALIKE = 0.5
"""Share of common words from which two findings count as the same."""
RELATED = 0.15
"""Share of common words that suffices if both findings have the same id."""
PATIENCE = 2
"""Maximum number of rounds in a row without progress."""


class FindingStatus(StrEnum):
    """The status of a finding after a round."""

    NEW = "new"
    REPEATED = "repeated"
    REOPENED = "reopened"
    """It was closed in an earlier round."""
    OUT_OF_SCOPE = "out-of-scope"
    """It is new, but about a part that the last revision did not change."""
    CLOSED = "closed"


Statuses = dict[str, FindingStatus]


@dataclass(frozen=True, slots=True)
class Tracked:
    """The findings of a review under their lasting ids, and the status of each."""

    findings: tuple[Finding, ...]
    statuses: Statuses

    def to_json(self) -> dict[str, str]:
        """Return the status of each finding as JSON data."""
        found = {}
        for id, status in self.statuses.items():
            found[id] = str(status)
        return found


def track(found: Findings, earlier: Rounds, is_changed: ChangeDetector) -> Tracked:
    """Give the findings of a review the ids that earlier reviews gave them.

    `earlier` holds the tracked findings of the earlier reviews, the oldest first;
    `is_changed` tells whether the last revision changed a section.
    """
    known = _Known(earlier)
    before = set()
    if earlier:
        for finding in earlier[-1]:
            before.add(finding.id)
    round = len(earlier) + 1
    used = set(known.by_id)
    tracked = []
    statuses: Statuses = {}
    for finding in found:
        id = known.find(finding, taken=statuses)
        if id is None:
            id = _fresh_id(finding.id, used, round)
            status = FindingStatus.OUT_OF_SCOPE
            is_first = not earlier
            if is_first or is_changed(finding.section):
                status = FindingStatus.NEW
        elif id in before:
            status = FindingStatus.REPEATED
        else:
            status = FindingStatus.REOPENED
        used.add(id)
        statuses[id] = status
        finding = replace(finding, id=id)
        tracked.append(finding)
    for id in known.by_id:
        if id in before:
            statuses.setdefault(id, FindingStatus.CLOSED)
    return Tracked(tuple(tracked), statuses)


class _Known:
    """The findings of earlier reviews, to be found again by id or by wording."""

    def __init__(self, earlier: Rounds) -> None:
        by_id: dict[str, Finding] = {}
        for findings in earlier:
            for finding in findings:
                by_id[finding.id] = finding
        self.by_id = by_id
        self._ids = tuple(by_id)
        texts = [finding.text for finding in by_id.values()]
        self._index = WordIndex(texts)

    def find(self, finding: Finding, taken: Statuses) -> str | None:
        """Return the id under which a finding is known, unless it is taken."""
        id = finding.id
        if id not in taken:
            same_id = self.by_id.get(id)
            # Reviewers number their findings anew, so an id alone proves nothing.
            if same_id and _is_related(finding, same_id):
                return id
        text = finding.text
        position = self._index.exact(text)
        if position is None:
            nearest = self._index.nearest(text)
            if nearest is None:
                return None
            position, score = nearest
            if score < ALIKE:
                return None
        id = self._ids[position]
        if id in taken:
            return None
        return id


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


def _fresh_id(id: str, used: Container[str], round: int) -> str:
    """Return the reviewer's own id, with a suffix if another finding has it."""
    if id not in used:
        return id
    fresh = f"{id}-r{round}"
    number = 2
    while fresh in used:
        fresh = f"{id}-r{round}.{number}"
        number += 1
    return fresh


def change_detector(before: str, after: str) -> ChangeDetector:
    """Return a function that tells whether a revision changed a section.

    A section that is not in both texts counts as changed.
    """
    old = _bodies(before)
    new = _bodies(after)

    def is_changed(section: str) -> bool:
        name = _name(section)
        if not name:
            return True
        if name not in old:
            return True
        body = new.get(name)
        return old[name] != body

    return is_changed


def _bodies(text: str) -> dict[str, str]:
    """Return the text of each section, without blank lines, by number and by title."""
    bodies: dict[str, str] = {}
    lines = scan(text)
    for section in sections(lines):
        rows = []
        for line in section.whole:
            row = line.text.rstrip()
            if row:
                rows.append(row)
        body = "\n".join(rows)
        number = heading_number(section.title)
        bodies.setdefault(number, body)
        title = plain(section.title)
        bodies.setdefault(title, body)
    return bodies


def _name(section: str) -> str:
    """Return the number of a section, else its bare title."""
    bare = section.strip()
    bare = bare.removeprefix("Section ")
    bare = bare.removeprefix("section ")
    bare = bare.lstrip("§ ")
    number = heading_number(f"{bare} .")
    if number:
        return number
    return plain(bare)


def find_standstill(rounds: Rounds) -> str:
    """Return why another round would not help, or nothing while there is progress.

    `rounds` holds the tracked findings of each round, the oldest first; only findings
    that block approval count.
    """
    open_ids = list(map(_open_ids, rounds))
    if len(open_ids) < 2:
        return ""
    *past, previous, last = open_ids
    if not last:
        return ""
    names = _names(last)
    # Every round may close findings and yet lead back to where an earlier one was.
    if last != previous and last in past:
        number = past.index(last) + 1
        return (
            f"round {len(open_ids)} is back at the findings of round {number}: {names}"
        )
    recent = open_ids[-PATIENCE - 1 :]
    if len(recent) <= PATIENCE:
        return ""
    counts = list(map(len, recent))
    later = counts[1:]
    grows = map(operator.lt, counts, later)
    if all(grows):
        listed = ", ".join(map(str, counts))
        return f"the findings grow from round to round: {listed}"
    keeps_all = map(operator.le, recent, recent[1:])
    if all(keeps_all):
        return f"no finding was resolved in {PATIENCE} rounds: {names}"
    return ""


def _open_ids(findings: Findings) -> set[str]:
    ids = set()
    for finding in findings:
        if blocks_approval(finding):
            ids.add(finding.id)
    return ids


def _names(ids: Iterable[str]) -> str:
    ordered = sorted(ids)
    shown = ordered[:5]
    names = ", ".join(shown)
    more = len(ordered) - 5
    if more > 0:
        names += f" and {more} more"
    return names
