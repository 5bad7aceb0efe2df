"""Tell what an item must not change: its tests may pass before the code (pure).

Three say so: the design by its words, the reviewer of the plan, and the writer of the
tests. Words such as "unchanged" are also used for what is new, so they only let a test
pass. A requirement needs no test that failed if the reviewer says of its scenarios that
they are kept, or if their Type column says so and the reviewer does not object.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from agentos.documents.lld import LldRequirement, LldScenario
from agentos.proving.inspection import plain_id

BY_DESIGN = "the design says so"
BY_REVIEWER = "the reviewer of the test plan says so"
BY_WRITER = "the writer of the tests says so"

_KEPT = re.compile(
    r"\bregressions?\b|\bunchanged\b|\bunaffected\b|\bas before\b|\bas (?:it does )?(?:now|today)\b"
    r"|\bbackwards?[- ]compatib"
    r"|\b(?:must|do|does|may|should|shall|will|is|are) not (?:be )?(?:changed?|altered|affected|modified)\b"
    r"|\bno (?:behaviou?r(?:al)? )?changes?\b"
    r"|\bstill\b|\bkeeps?\b|\bkept\b|\bstays?\b|\bremains?\b|\bcontinues?\b"
    r"|\bpreserv(?:es?|ed|ing)\b|\b(?:existing|present|current) behaviou?r\b|\bthe same as\b"
)
_CLAUSE_END = re.compile(r"[;.](?:\s+|$)|,?\s+but\s+")


@dataclass(frozen=True, slots=True)
class PlannedAsKept:
    """What the words of a design say about what must not change."""

    scenarios: Mapping[str, str]
    """The words, by the plain ids of the scenarios; those about new behavior are left
    out.
    """
    by_type: frozenset[str] = frozenset()
    """The scenarios of which the Type column says it."""
    requirements: frozenset[str] = frozenset()
    """Requirements whose words say it of everything that they ask for."""

    def find_undecided(self, decided: Iterable[str]) -> list[str]:
        """Return the scenarios that only sound like it, and of which the reviewer has
        said nothing, each with its words.
        """
        plain = map(plain_id, decided)
        settled = self.by_type.union(plain)
        undecided = []
        for id, words in self.scenarios.items():
            if id not in settled:
                line = f"{id}: {words}"
                undecided.append(line)
        return undecided


@dataclass(frozen=True, slots=True)
class Kept:
    """What must not change, after everybody was heard."""

    scenarios: Mapping[str, str] = field(default_factory=dict)
    """Who says so, by the plain id of the scenario; their tests may pass."""
    requirements: frozenset[str] = frozenset()
    """Requirements that need no test that failed."""


def listen(text: str) -> bool:
    """Tell whether a text sounds like what must not change; each of its clauses has to
    say it.
    """
    folded = text.casefold()
    words = folded.split()
    flat = " ".join(words)
    parts = _CLAUSE_END.split(flat)
    clauses = list(filter(str.strip, parts))
    if not clauses:
        return False
    return all(map(_KEPT.search, clauses))


def read_kept(
    requirements: Iterable[LldRequirement], scenarios: Iterable[LldScenario]
) -> PlannedAsKept:
    """Read what a design says about what must not change.

    A scenario says it in its name or its type, or all requirements that it covers do.
    """
    texts = {}
    for requirement in requirements:
        if listen(requirement.text):
            texts[requirement.id] = requirement.text
    found = {}
    by_type = set()
    for scenario in scenarios:
        id = plain_id(scenario.id)
        name = scenario.name
        kind = scenario.type
        covered = set(scenario.requirements)
        if _is_heard(kind):
            by_type.add(id)
            found[id] = f"{name} (Type: {kind})"
        elif _is_heard(name):
            found[id] = name
        elif covered and covered.issubset(texts):
            first = min(covered)
            text = texts[first]
            found[id] = f"{name} ({first}: {text})"
    return PlannedAsKept(
        scenarios=found,
        by_type=frozenset(by_type),
        requirements=frozenset(texts),
    )


def _is_heard(words: str) -> bool:
    folded = words.casefold()
    return _KEPT.search(folded) is not None


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
    by_reviewer = _plain(confirmed)
    new = _plain(denied) - by_reviewer
    by_writer = _plain(said) - new
    by_design = planned.scenarios.keys() - new
    scenarios = dict.fromkeys(by_writer, BY_WRITER)
    scenarios |= dict.fromkeys(by_design, BY_DESIGN)
    scenarios |= dict.fromkeys(by_reviewer, BY_REVIEWER)
    sure = by_reviewer | planned.by_type - new
    requirements = set()
    for requirement, ids in covered_by.items():
        if ids and sure.issuperset(ids):
            requirements.add(requirement)
    return Kept(scenarios, frozenset(requirements))


def _plain(ids: Iterable[str]) -> set[str]:
    return set(map(plain_id, ids))
