"""Compare texts by their words, their figures and the names in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

Words = frozenset[str]
Places = dict[str, list[int]]
"""The positions of the texts with a word, by word."""

LONGEST = 4000
_COMMON = 64
"""A word in more texts than this makes none of them a candidate."""
_WORD = re.compile(r"[A-Za-z0-9_]+(?:['\u2019][a-z]{1,2}\b)?")
_SPAN = re.compile(r"`([^`\n]{1,300})`")
_FIGURE = re.compile(
    r"(?<![\w#./{$-])(\d[\d,]{0,15}(?:\.\d{1,9})?)(?: ?(%|[A-Za-z]{1,20}))?(?![\d])"
)

_STOP = """
a an and any are as at be been before being both but by can could do does doing done each either for
from get gets has have having if in into is it its just like made make makes may more most must need
needs no not of on one only onto or other our out over own per shall should so some such than that
the their them then there these they this those through to too under up upon use used uses using
very via was we were what when where which while who will with would you your all also every i
within until since beyond between during don't doesn't isn't aren't can't won't
"""
STOP_WORDS = frozenset(_STOP.split())
_UNIT_NAMES = (
    ("s", 0.001, "ms millisecond milliseconds"),
    ("s", 1.0, "s sec secs second seconds"),
    ("s", 60.0, "m min mins minute minutes"),
    ("s", 3600.0, "h hour hours"),
    ("s", 86400.0, "day days"),
    ("s", 604800.0, "week weeks"),
    ("b", 1.0, "b byte bytes"),
    ("b", 1e3, "kb kib kilobytes"),
    ("b", 1e6, "mb mib megabytes"),
    ("b", 1e9, "gb gib gigabytes"),
    ("%", 1.0, "% percent"),
)
_UNITS: dict[str, tuple[str, float]] = {}
for _base, _factor, _names in _UNIT_NAMES:
    for _name in _names.split():
        _UNITS[_name] = (_base, _factor)

_ENDINGS = (
    ("ation", 8),
    ("ate", 7),
    ("ates", 8),
    ("ated", 8),
    ("ure", 6),
    ("ing", 6),
    ("ies", 5),
    ("ed", 5),
    ("es", 5),
    ("s", 4),
)
"""Endings to cut, each with the length of the shortest word that loses it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit.

    Times are in seconds and sizes in bytes, so that equal figures compare equal.
    """

    value: float
    unit: str
    text: str = ""


@lru_cache(maxsize=1024)
def stem(word: str) -> str:
    """Reduce a word to the stem that its plural, past and continuous forms share."""
    word = word.casefold()
    if word.isdecimal():
        return word
    # `process` and `class` are no plurals.
    is_cut = not word.endswith("ss")
    for ending, shortest in _ENDINGS:
        if is_cut and len(word) >= shortest and word.endswith(ending):
            word = word.removesuffix(ending)
            if ending == "ies":
                word += "y"
            break
    if len(word) <= 3:
        return word
    # `stopped` and `stop` share a stem.
    last = word[-1]
    if last == word[-2] and last not in "aeiouls":
        word = word[:-1]
    if len(word) > 3:
        word = word.rstrip("e")
    return word


def keywords(text: str) -> Words:
    """Return the stems of the words in a text, without stop words.

    Only the beginning of a very long text counts.
    """
    # Cut before the cache, which must not keep huge texts as keys.
    return _keywords(text[:LONGEST])


@lru_cache(maxsize=512)
def _keywords(text: str) -> Words:
    words = _WORD.findall(text.casefold())
    return frozenset(stem(word) for word in words if word not in STOP_WORDS)


def code_spans(text: str) -> tuple[str, ...]:
    """Return the texts in backticks."""
    if "`" not in text:
        return ()
    spans = _SPAN.findall(text[:50_000])
    return tuple(spans)


def figures(text: str) -> tuple[Figure, ...]:
    """Return the numbers with their units, without numbers that are part of a name."""
    return _figures(text[:LONGEST])


@lru_cache(maxsize=512)
def _figures(text: str) -> tuple[Figure, ...]:
    found = []
    for match in _FIGURE.finditer(text):
        number, word = match.groups()
        name = (word or "").casefold()
        # In `5 of them`, `of` is no unit.
        if name in STOP_WORDS:
            name = ""
        unit, factor = _UNITS.get(name) or (stem(name), 1.0)
        shown = number
        if unit:
            shown = match[0].strip()
        value = float(number.replace(",", ""))
        found.append(Figure(value * factor, unit, shown))
    return tuple(found)


def likeness(one: Words, other: Words) -> float:
    """Return how much two sets of words have in common, from 0 to 1."""
    if not one or not other:
        return 0.0
    shared = one & other
    total = one | other
    return len(shared) / len(total)


def share(part: Words, whole: Words) -> float:
    """Return the share of the words in `part` that `whole` contains."""
    if not part:
        return 0.0
    shared = part & whole
    return len(shared) / len(part)


def normalize(text: str) -> str:
    """Reduce text to its words, so that punctuation, case and spacing do not matter."""
    words = _WORD.findall(text.casefold())
    return " ".join(words)


def index_words(groups: Iterable[Iterable[str]]) -> Places:
    """Return for each word the positions of the groups that contain it."""
    places: Places = {}
    for position, group in enumerate(groups):
        for word in group:
            positions = places.setdefault(word, [])
            positions.append(position)
    return places


class WordIndex:
    """An index that finds the text nearest to a given one.

    It compares only texts that share a word.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.words = tuple(map(keywords, texts))
        self._exact: dict[str, int] = {}
        self._places = index_words(self.words)
        for index, text in enumerate(texts):
            flat = normalize(text)
            self._exact.setdefault(flat, index)

    def exact(self, text: str) -> int | None:
        """Return the index of the first text with the same words in the same order."""
        flat = normalize(text)
        return self._exact.get(flat)

    def nearest(self, text: str) -> tuple[int, float] | None:
        """Return the index of the nearest text and its likeness.

        Words that many texts share are skipped: one of them would compare everything
        with everything.
        """
        wanted = keywords(text)
        candidates: set[int] = set()
        for word in wanted:
            places = self._places.get(word, ())
            if len(places) <= _COMMON:
                candidates.update(places)
        best = None
        for index in sorted(candidates):
            score = likeness(wanted, self.words[index])
            if best is None or score > best[1]:
                best = index, score
        return best
