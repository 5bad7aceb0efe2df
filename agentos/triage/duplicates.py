"""Find items that say the same as another one.

Every look-up goes by a key (the words of a title, those words without one of them, a whole criterion), so that the cost
grows with the number of items and not with that of pairs. What tells two items of one mould apart, such as a number or
a name that stands in the title and in the body, keeps them apart here too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agentos.documents.words import LONGEST, keywords, likeness, normalise, stem
from agentos.triage.demands import Demands
from agentos.triage.polarity import word_set

_NUMBER = re.compile(r"\d+")
_MOST_IN_A_BUCKET = 8
_LONGEST_TITLE = 30
_ALIKE = 0.5
_VERY_ALIKE = 0.7
_FEWEST_CRITERIA = 3
_FEWEST_WORDS = 20
_MOST_CRITERIA = 60
_SHARE = 0.8
_EMPTY_WORDS = frozenset(
    map(stem, word_set("add implement support create make new feature introduce provide allow enable let build write"))
)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is compared of an item."""

    name: str
    """How the item is called in a complaint."""
    title: str
    title_words: frozenset[str]
    body: frozenset[str]
    criteria: tuple[str, ...]
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Another item that says the same, and in what."""

    other: Profile
    what: str
    is_serious: bool


def profile_of(name: str, demands: Demands) -> Profile:
    """Return what is compared of an item."""
    statements = (*demands.criteria[:_MOST_CRITERIA], *demands.requirements[:_MOST_CRITERIA])
    body = frozenset[str]().union(*map(_words, statements or (demands.text,)))
    return Profile(
        name,
        demands.title,
        frozenset(sorted(_words(demands.title) - _EMPTY_WORDS)[:_LONGEST_TITLE]),
        body,
        tuple(map(normalise, demands.criteria[:_MOST_CRITERIA])),
        tuple(map(normalise, demands.requirements[:_MOST_CRITERIA])),
    )


def _words(text: str) -> frozenset[str]:
    """Return the stems of the words, and the numbers as they are: another number is another thing."""
    words = frozenset(word for word in keywords(text) if not word[0].isdigit())
    return words.union(_NUMBER.findall(text[:LONGEST]))


class Doubles:
    """Everything that was seen so far, ready to be compared with."""

    def __init__(self) -> None:
        self._by_title: dict[frozenset[str], list[Profile]] = {}
        self._by_criterion: dict[str, list[Profile]] = {}

    def add(self, profile: Profile) -> Likeness | None:
        """Return the earlier item that this one doubles, if any, and remember this one."""
        found = self._find_by_title(profile) or self._find_by_criteria(profile)
        for key in _title_keys(profile.title_words):
            _remember(self._by_title.setdefault(key, []), profile)
        for criterion in set(profile.criteria):
            _remember(self._by_criterion.setdefault(criterion, []), profile)
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
        if len(own) < _FEWEST_CRITERIA or sum(len(text.split()) for text in own) < _FEWEST_WORDS:
            return None
        shared: Counter[str] = Counter()
        others: dict[str, Profile] = {}
        for criterion in own:
            for other in self._by_criterion.get(criterion, ()):
                shared[other.name] += 1
                others[other.name] = other
        for name, amount in shared.most_common(1):
            other = others[name]
            total = max(len(own), len(set(other.criteria)))
            if amount < _SHARE * total:
                return None
            is_same = amount == total and set(profile.requirements) == set(other.requirements)
            what = f"{amount} of {total} acceptance criteria are word for word those of {name} ({_short(other.title)})"
            return Likeness(other, what, is_same)
        return None


def _title_keys(words: frozenset[str]) -> Iterator[frozenset[str]]:
    if len(words) >= 2:
        yield words
    if len(words) >= 3:
        for word in sorted(words):
            yield words - {word}


def _remember(bucket: list[Profile], profile: Profile) -> None:
    # The first few stand for all others with the same words; more would make large backlogs slow.
    if len(bucket) < _MOST_IN_A_BUCKET:
        bucket.append(profile)


def _compare(one: Profile, other: Profile) -> Likeness | None:
    extra = one.title_words ^ other.title_words
    if len(extra) > 1 or any(word[0].isdigit() for word in extra):
        return None
    if extra and any((word in one.body) != (word in other.body) for word in extra):
        return None
    alike = likeness(one.body, other.body)
    if alike >= (_VERY_ALIKE if extra else _ALIKE):
        share = round(100 * alike)
        what = f"says the same as {other.name} ({_short(other.title)}): its title, and {share}% of the words it demands"
        return Likeness(other, what, True)
    if not extra and one.title_words == other.title_words:
        return Likeness(other, f"has the title of {other.name} ({_short(other.title)}), but other demands", False)
    return None


def _short(title: str, limit: int = 60) -> str:
    flat = " ".join(title[: 2 * limit].split())
    return flat if len(flat) <= limit else f"{flat[: limit - 3].rstrip()}..."
