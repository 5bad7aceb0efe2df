"""Find the scenarios that test each requirement, by citation or by shared words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from agentos.documents.lld.model import Lld, LldScenario
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import Places, Words, index_words, keywords

_OPTION = re.compile(r"--[a-z][a-z0-9-]{1,40}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_COMMON = 1 / 3
_FEW = 4
_SHARED = 2
_HALF = 0.5
_MAX_SCENARIOS = 1000

Testing = dict[str, list[str]]
"""The ids of the scenarios that test a requirement, by its id."""


def coverage(lld: Lld) -> tuple[CoverageRow, ...]:
    """Return every requirement of section 3 with the scenarios that test it.

    If the scenario table has a column for requirements, only what it cites counts.
    Otherwise a scenario tests a requirement when both name the same option, share two
    words that few other rows have, or share half of the requirement's words.
    """
    testing = _match(lld)
    rows = []
    for requirement in lld.requirements:
        id = requirement.id
        scenarios = testing.get(id, [])
        is_covered = len(scenarios) > 0
        row = CoverageRow(
            requirement=id,
            text=requirement.text,
            scenarios=tuple(scenarios),
            covered=is_covered,
        )
        rows.append(row)
    return tuple(rows)


def _match(lld: Lld) -> Testing:
    if not lld.cites_requirements:
        return _match_words(lld)
    testing: Testing = {}
    for scenario in lld.scenarios:
        for requirement in scenario.requirements:
            ids = testing.setdefault(requirement, [])
            ids.append(scenario.id)
    return testing


def _match_words(lld: Lld) -> Testing:
    scenarios = lld.scenarios[:_MAX_SCENARIOS]
    tested = []
    options = []
    for scenario in scenarios:
        text = _text(scenario)
        words = _words(text)
        tested.append(words)
        named = _OPTION.findall(text)
        options.append(named)
    requirements = lld.requirements
    required = []
    for requirement in requirements:
        words = _words(requirement.text)
        required.append(words)
    groups = [*tested, *required]
    counts: Counter[str] = Counter()
    for group in groups:
        counts.update(group)
    # A word in more rows than this is common and says little.
    share = _COMMON * len(groups)
    limit = max(_FEW, share)
    # With an index, no requirement is compared with every scenario.
    by_word = index_words(tested)
    by_option = index_words(options)
    testing: Testing = {}
    pairs = zip(requirements, required, strict=True)
    for requirement, wanted in pairs:
        rare = set()
        for word in wanted:
            if counts[word] <= limit:
                rare.add(word)
        few = min(_SHARED, len(rare))
        half = _HALF * len(wanted)
        text = requirement.text[:4000]
        named = _OPTION.findall(text)
        found = _find(by_option, named, 1)
        found |= _find(by_word, rare, few)
        found |= _find(by_word, wanted, half)
        id = requirement.id
        ids = testing.setdefault(id, [])
        positions = sorted(found)
        for position in positions:
            scenario = scenarios[position]
            ids.append(scenario.id)
    return testing


def _find(places: Places, words: Iterable[str], enough: float) -> set[int]:
    """Return the positions of the groups that contain enough of the words."""
    shared: Counter[int] = Counter()
    for word in words:
        positions = places.get(word, ())
        shared.update(positions)
    found = set()
    for position, count in shared.items():
        if count >= enough:
            found.add(position)
    return found


def _text(scenario: LldScenario) -> str:
    text = (
        f"{scenario.name} {scenario.input} {scenario.expected} {scenario.pass_criteria}"
    )
    return text[:4000]


def _words(text: str) -> Words:
    """Return the key words, and those inside compound names."""
    beginning = text[:3000]
    names = _PARTS.findall(beginning)
    parts = " ".join(names)
    both = f"{beginning} {parts}"
    return keywords(both)
