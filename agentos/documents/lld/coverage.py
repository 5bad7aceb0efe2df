"""Tell which scenarios test which requirement: by citation, else by the words they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from agentos.documents.lld.model import Lld, LldScenario
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import keywords

_OPTION = re.compile(r"--[a-z][a-z0-9-]{1,40}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_COMMON = 1 / 3
_FEW = 4
_SHARED = 2
_HALF = 0.5
_MOST_SCENARIOS = 1000


def coverage(lld: Lld) -> tuple[CoverageRow, ...]:
    """Return every requirement of section 3 with the scenarios of section 10.1 that test it.

    Where the table has a column for requirements, only what it cites counts. Where it has none, a scenario tests a
    requirement when both name the same option, share two words that few other rows have, or half of its words.
    """
    testing = _by_citation(lld) if lld.cites_requirements else _by_words(lld)
    return tuple(
        CoverageRow(req.id, req.text, tuple(testing.get(req.id, ())), bool(testing.get(req.id)))
        for req in lld.requirements
    )


def _by_citation(lld: Lld) -> dict[str, list[str]]:
    citing: dict[str, list[str]] = {}
    for scenario in lld.scenarios:
        for requirement in scenario.requirements:
            citing.setdefault(requirement, []).append(scenario.id)
    return citing


def _by_words(lld: Lld) -> dict[str, list[str]]:
    scenarios = lld.scenarios[:_MOST_SCENARIOS]
    rows = [_text(scenario) for scenario in scenarios]
    words = [_words(row) for row in rows]
    wanted = [_words(requirement.text) for requirement in lld.requirements]
    counts = Counter(word for group in (*words, *wanted) for word in group)
    limit = max(_FEW, _COMMON * (len(words) + len(wanted)))
    places = _places(words)
    options = _places([frozenset(_OPTION.findall(row)) for row in rows])
    testing: dict[str, list[str]] = {}
    for requirement, mine in zip(lld.requirements, wanted, strict=True):
        rare = [word for word in mine if counts[word] <= limit]
        found = _reached(places, rare, min(_SHARED, len(rare)) or 1)
        found |= _reached(places, mine, _HALF * len(mine))
        found |= _reached(options, _OPTION.findall(requirement.text[:4000]), 1)
        testing.setdefault(requirement.id, []).extend(scenarios[index].id for index in sorted(found))
    return testing


def _reached(places: Mapping[str, Sequence[int]], words: Iterable[str], enough: float) -> set[int]:
    shared = Counter(index for word in words for index in places.get(word, ()))
    return {index for index, count in shared.items() if count >= enough}


def _places(groups: Iterable[frozenset[str]]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        for word in group:
            places.setdefault(word, []).append(index)
    return places


def _text(scenario: LldScenario) -> str:
    return f"{scenario.name} {scenario.input} {scenario.expected} {scenario.pass_criteria}"[:4000]


def _words(text: str) -> frozenset[str]:
    """Return the key words, those inside compound names included."""
    return keywords(" ".join([text[:3000], *_PARTS.findall(text[:3000])]))
