"""Find items that repeat another one.

Items are looked up by keys (the words of a title, those words without one of them, a
whole criterion), so that the cost grows with the number of items, not of pairs. Items
written from one template are no duplicates: a number or a name that differs in the
title and in the body keeps them apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agentos.backlog.triage.demands import Demands, shorten
from agentos.documents.words import LONGEST, keywords, likeness, normalize, stem

Words = frozenset[str]

_NUMBER = re.compile(r"\d+")
_MOST_IN_A_BUCKET = 8
_LONGEST_TITLE = 30
_ALIKE = 0.5
_VERY_ALIKE = 0.7
_FEWEST_CRITERIA = 3
_FEWEST_WORDS = 20
_MOST_CRITERIA = 60
_SHARE = 0.8
_VERBS = (
    "add implement support create make new feature introduce provide allow enable let"
    " build write"
)
_EMPTY_WORDS = frozenset(map(stem, _VERBS.split()))


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of an item that are compared."""

    name: str
    """The name of the item in a complaint."""
    title: str
    title_words: Words
    body: Words
    criteria: tuple[str, ...]
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Another item that is alike, and how."""

    other: Profile
    what: str
    is_serious: bool


def profile_of(name: str, demands: Demands) -> Profile:
    """Return the parts of an item that are compared."""
    criteria = demands.criteria[:_MOST_CRITERIA]
    requirements = demands.requirements[:_MOST_CRITERIA]
    statements = criteria + requirements
    if not statements:
        statements = (demands.text,)
    body: set[str] = set()
    for statement in statements:
        body.update(_words(statement))
    words = _words(demands.title) - _EMPTY_WORDS
    title_words = sorted(words)[:_LONGEST_TITLE]
    return Profile(
        name,
        demands.title,
        frozenset(title_words),
        frozenset(body),
        tuple(map(normalize, criteria)),
        tuple(map(normalize, requirements)),
    )


def _words(text: str) -> Words:
    """Return the stems of words, and numbers unchanged."""
    words = set(_NUMBER.findall(text[:LONGEST]))
    for word in keywords(text):
        if not word[0].isdigit():
            words.add(word)
    return frozenset(words)


class DuplicateIndex:
    """The items seen so far, indexed by their keys."""

    def __init__(self) -> None:
        self._by_title: dict[Words, list[Profile]] = {}
        self._by_criterion: dict[str, list[Profile]] = {}

    def add(self, profile: Profile) -> Likeness | None:
        """Return the earlier item that this one repeats, if any; remember this one."""
        found = self._find_by_title(profile)
        if found is None:
            found = self._find_by_criteria(profile)
        for key in _title_keys(profile.title_words):
            bucket = self._by_title.setdefault(key, [])
            _remember(bucket, profile)
        for criterion in set(profile.criteria):
            bucket = self._by_criterion.setdefault(criterion, [])
            _remember(bucket, profile)
        return found

    def _find_by_title(self, profile: Profile) -> Likeness | None:
        for key in _title_keys(profile.title_words):
            for other in self._by_title.get(key, ()):
                found = _compare(profile, other)
                if found is not None:
                    return found
        return None

    def _find_by_criteria(self, profile: Profile) -> Likeness | None:
        own = set(profile.criteria)
        if len(own) < _FEWEST_CRITERIA:
            return None
        words = sum(len(criterion.split()) for criterion in own)
        if words < _FEWEST_WORDS:
            return None
        shared: Counter[str] = Counter()
        others: dict[str, Profile] = {}
        for criterion in own:
            for other in self._by_criterion.get(criterion, ()):
                shared[other.name] += 1
                others[other.name] = other
        if not shared:
            return None
        name, amount = shared.most_common(1)[0]
        other = others[name]
        theirs = set(other.criteria)
        total = max(len(own), len(theirs))
        if amount < _SHARE * total:
            return None
        is_serious = amount == total
        if set(profile.requirements) != set(other.requirements):
            is_serious = False
        title = shorten(other.title, 60)
        what = (
            f"{amount} of {total} acceptance criteria are word for word those of"
            f" {name} ({title})"
        )
        return Likeness(other, what, is_serious)


def _title_keys(words: Words) -> Iterator[Words]:
    if len(words) >= 2:
        yield words
    if len(words) >= 3:
        for word in sorted(words):
            yield words - {word}


def _remember(bucket: list[Profile], profile: Profile) -> None:
    # A few are enough to find a duplicate; all of them would make large backlogs slow.
    if len(bucket) < _MOST_IN_A_BUCKET:
        bucket.append(profile)


def _compare(one: Profile, other: Profile) -> Likeness | None:
    extra = one.title_words ^ other.title_words
    if len(extra) > 1:
        return None
    for word in extra:
        if word[0].isdigit():
            return None
        if (word in one.body) != (word in other.body):
            return None
    needed = _ALIKE
    if extra:
        needed = _VERY_ALIKE
    alike = likeness(one.body, other.body)
    title = shorten(other.title, 60)
    if alike >= needed:
        share = round(100 * alike)
        what = (
            f"says the same as {other.name} ({title}): its title, and"
            f" {share}% of the words it demands"
        )
        return Likeness(other, what, is_serious=True)
    if extra:
        return None
    what = f"has the title of {other.name} ({title}), but other demands"
    return Likeness(other, what, is_serious=False)
