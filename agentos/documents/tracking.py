"""Follow findings from review to review: which are closed, repeated, new from the fix, or about something else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from agentos.documents.findings import Finding, blocks_approval
from agentos.documents.headings import plain
from agentos.documents.lld.parse import heading_number
from agentos.documents.markdown import scan, sections
from agentos.documents.words import WordIndex, keywords, likeness

ALIKE = 0.5
"""Share of common words from which two findings are the same thing said twice."""
RELATED = 0.15
"""Share of common words that suffices when the reviewer itself gave both the same id."""
PATIENCE = 2
"""Rounds in a row that may pass without progress."""


class Fate(StrEnum):
    """What became of a finding in a round."""

    NEW = "new"
    REPEATED = "repeated"
    REOPENED = "reopened"
    """It was closed in an earlier round."""
    OUT_OF_SCOPE = "out-of-scope"
    """It is about a part that the last revision did not touch, and was not found before."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Tracked:
    """The findings of a review under their lasting ids, and the fate of each known finding."""

    findings: tuple[Finding, ...]
    fates: Mapping[str, Fate]

    def to_json(self) -> dict[str, str]:
        """Return the fates as JSON data."""
        return {id: str(fate) for id, fate in self.fates.items()}


def track(found: Sequence[Finding], earlier: Sequence[Sequence[Finding]], is_changed: Callable[[str], bool]) -> Tracked:
    """Give the findings of a review the ids under which earlier reviews had them.

    `earlier` are the tracked findings of the reviews before, the oldest first; `is_changed` tells whether the last
    revision changed a section.
    """
    known = _Known(earlier)
    before = {finding.id for finding in earlier[-1]} if earlier else set()
    tracked: list[Finding] = []
    fates: dict[str, Fate] = {}
    for finding in found:
        id = known.find(finding, taken=fates)
        if id is not None:
            fates[id] = Fate.REPEATED if id in before else Fate.REOPENED
        else:
            id = _fresh_id(finding.id, known.by_id, fates, len(earlier) + 1)
            fates[id] = Fate.NEW if not earlier or is_changed(finding.section) else Fate.OUT_OF_SCOPE
        tracked.append(replace(finding, id=id))
    closed = {id: Fate.CLOSED for id in known.by_id if id in before and id not in fates}
    return Tracked(tuple(tracked), MappingProxyType({**fates, **closed}))


class _Known:
    """All findings of earlier reviews, to be found again by id or by wording."""

    def __init__(self, earlier: Sequence[Sequence[Finding]]) -> None:
        self.by_id = {finding.id: finding for findings in earlier for finding in findings}
        self._ids = tuple(self.by_id)
        self._index = WordIndex([finding.text for finding in self.by_id.values()])

    def find(self, finding: Finding, taken: Container[str]) -> str | None:
        """Return the id under which a finding is known."""
        same_id = self.by_id.get(finding.id)
        if same_id is not None and finding.id not in taken and _is_related(finding, same_id):
            return finding.id
        position = self._index.exact(finding.text)
        if position is None:
            nearest = self._index.nearest(finding.text)
            position = nearest[0] if nearest is not None and nearest[1] >= ALIKE else None
        if position is None or self._ids[position] in taken:
            return None
        return self._ids[position]


def _is_related(one: Finding, other: Finding) -> bool:
    if _name(one.section) and _name(one.section) == _name(other.section) and one.category is other.category:
        return True
    return likeness(keywords(one.text), keywords(other.text)) >= RELATED


def _fresh_id(wish: str, known: Container[str], taken: Container[str], round: int) -> str:
    """Keep the reviewer's own id unless it stands for another finding already."""
    id, number = wish, 1
    while id in known or id in taken:
        id = f"{wish}-r{round}" if number == 1 else f"{wish}-r{round}.{number}"
        number += 1
    return id


def change_detector(before: str, after: str) -> Callable[[str], bool]:
    """Return what tells whether a revision changed a section, which a reviewer names by number or title.

    A section that cannot be found in both counts as changed.
    """
    old, new = _bodies(before), _bodies(after)

    def is_changed(section: str) -> bool:
        name = _name(section)
        return not name or name not in old or old[name] != new.get(name)

    return is_changed


def _bodies(text: str) -> dict[str, str]:
    bodies: dict[str, str] = {}
    for section in sections(scan(text)):
        body = "\n".join(line.text.rstrip() for line in section.whole if line.text.strip())
        for name in (heading_number(section.title), plain(section.title)):
            if name:
                bodies.setdefault(name, body)
    return bodies


def _name(section: str) -> str:
    bare = section.strip().removeprefix("Section ").removeprefix("section ").lstrip("§ ").strip()
    number = heading_number(f"{bare} .")
    return number or plain(bare)


def find_standstill(rounds: Sequence[Iterable[Finding]]) -> str:
    """Say why going on would not help, or nothing while there is progress.

    `rounds` are the tracked findings of each round, the oldest first; only those that block approval count.
    """
    open_ids = [frozenset(finding.id for finding in findings if blocks_approval(finding)) for findings in rounds]
    if len(open_ids) < 2 or not open_ids[-1]:
        return ""
    last = open_ids[-1]
    for number, earlier in enumerate(open_ids[:-2], start=1):
        if earlier == last and open_ids[-2] != last:
            return f"round {len(open_ids)} is back at the findings of round {number}: {_names(last)}"
    recent = open_ids[-PATIENCE - 1 :]
    if len(recent) <= PATIENCE:
        return ""
    steps = list(itertools.pairwise(recent))
    if all(len(later) > len(earlier) for earlier, later in steps):
        return f"the findings grow from round to round: {', '.join(str(len(ids)) for ids in recent)}"
    if all(earlier <= later for earlier, later in steps):
        return f"no finding was resolved in {PATIENCE} rounds: {_names(last)}"
    return ""


def _names(ids: Iterable[str]) -> str:
    ordered = sorted(ids)
    more = f" and {len(ordered) - 5} more" if len(ordered) > 5 else ""
    return ", ".join(ordered[:5]) + more
