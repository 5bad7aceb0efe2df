"""Tell what an item must not change: its tests may pass before the code (pure).

Three say so: the design by its words, the reviewer of the plan, and the writer of the
tests. The reviewer has the last word about the scenarios that it speaks of. Words such
as "still" are also used for what is new: they let a test pass, but only with the word
of somebody else do they excuse a requirement from having a test that failed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from agentos.documents.lld import LldRequirement, LldScenario
from agentos.proving.inspection import plain_id

BY_DESIGN = "the design says so"
BY_REVIEWER = "the reviewer of the test plan says so"
BY_WRITER = "the writer of the tests says so"

_SURE = re.compile(
    r"\bregressions?\b|\bunchanged\b|\bunaffected\b|\bas before\b|\bas (?:it does )?(?:now|today)\b"
    r"|\bbackwards?[- ]compatib"
    r"|\b(?:must|do|does|may|should|shall|will|is|are) not (?:be )?(?:changed?|altered|affected|modified)\b"
    r"|\bno (?:behaviou?r(?:al)? )?changes?\b"
    r"|\b(?:existing|present|current) behaviou?r (?:is |must be |stays |remains )?(?:kept|preserved|the same)\b"
)
_UNSURE = re.compile(
    r"\bstill\b|\bkeeps?\b|\bkept\b|\bstays?\b|\bremains?\b|\bcontinues?\b"
    r"|\bpreserv(?:es?|ed|ing)\b|\bexisting behaviou?r\b|\bthe same as\b"
)
_CLAUSE_END = re.compile(r"[;.](?:\s+|$)|,?\s+but\s+")


class Sound(IntEnum):
    """How sure a text sounds about what must not change."""

    NEW = 0
    UNSURE = 1
    KEPT = 2


@dataclass(frozen=True, slots=True)
class PlannedAsKept:
    """What the words of a design say about what must not change."""

    scenarios: Mapping[str, Sound]
    """Plain ids; those about new behavior are left out."""
    requirements: frozenset[str] = frozenset()
    """Requirements that say it of everything that they ask for."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What must not change, after everybody was heard."""

    scenarios: Mapping[str, str] = field(default_factory=dict)
    """Who says so, by the plain id of the scenario; their tests may pass."""
    requirements: frozenset[str] = frozenset()
    """Requirements that need no test that failed."""


def listen(text: str) -> Sound:
    """Return how sure a text sounds; each of its clauses has to say it."""
    folded = " ".join(text.casefold().split())
    sounds = []
    for clause in _CLAUSE_END.split(folded):
        if not clause.strip():
            continue
        if _SURE.search(clause):
            sounds.append(Sound.KEPT)
        elif _UNSURE.search(clause):
            sounds.append(Sound.UNSURE)
        else:
            return Sound.NEW
    return min(sounds, default=Sound.NEW)


def read_kept(
    requirements: Iterable[LldRequirement], scenarios: Iterable[LldScenario]
) -> PlannedAsKept:
    """Read what a design says about what must not change.

    A scenario says it in its name or its type, or all requirements that it covers do.
    """
    heard = {}
    for requirement in requirements:
        heard[requirement.id] = listen(requirement.text)
    found = {}
    for scenario in scenarios:
        covered = [heard.get(id, Sound.NEW) for id in scenario.requirements]
        sound = max(
            _listen_anywhere(scenario.name),
            _listen_anywhere(scenario.type),
            min(covered, default=Sound.NEW),
        )
        if sound:
            found[plain_id(scenario.id)] = sound
    sure = [id for id, sound in heard.items() if sound is Sound.KEPT]
    return PlannedAsKept(found, frozenset(sure))


def _listen_anywhere(words: str) -> Sound:
    folded = words.casefold()
    if _SURE.search(folded):
        return Sound.KEPT
    if _UNSURE.search(folded):
        return Sound.UNSURE
    return Sound.NEW


def decide_kept(
    planned: PlannedAsKept,
    covered_by: Mapping[str, Collection[str]],
    *,
    confirmed: Iterable[str] = (),
    denied: Iterable[str] = (),
    said: Iterable[str] = (),
) -> Kept:
    """Return what is kept: `confirmed` and `denied` are the reviewer's scenarios,
    `said` those of the test writer.
    """
    by_reviewer = set(map(plain_id, confirmed))
    new = set(map(plain_id, denied)) - by_reviewer
    by_writer = set(map(plain_id, said)) - new
    scenarios = {}
    sure = set(by_reviewer)
    for id in sorted(by_writer):
        scenarios[id] = BY_WRITER
    for id, sound in planned.scenarios.items():
        if id in new:
            continue
        if sound is Sound.KEPT or id in by_writer:
            sure.add(id)
        scenarios[id] = BY_DESIGN
    for id in sorted(by_reviewer):
        scenarios[id] = BY_REVIEWER
    requirements = set()
    for requirement, ids in covered_by.items():
        if not new.isdisjoint(ids):
            continue
        if requirement in planned.requirements or (ids and sure.issuperset(ids)):
            requirements.add(requirement)
    return Kept(scenarios, frozenset(requirements))
