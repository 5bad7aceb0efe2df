"""Compare what sentences say: their words, their figures and the names in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 4000
_WORD = re.compile(r"[A-Za-z0-9_]+(?:['\u2019][a-z]{1,2}\b)?")
_SPAN = re.compile(r"`([^`\n]{1,300})`")
_FIGURE = re.compile(r"(?<![\w#./{$-])(\d[\d,]{0,15}(?:\.\d{1,9})?)(?: ?(%|[A-Za-z]{1,20}))?(?![\d])")

_STOP = """
a an and any are as at be been before being both but by can could do does doing done each either for
from get gets has have having if in into is it its just like made make makes may more most must need
needs no not of on one only onto or other our out over own per shall should so some such than that
the their them then there these they this those through to too under up upon use used uses using
very via was we were what when where which while who will with would you your all also every i
within until since beyond between during don't doesn't isn't aren't can't won't
"""
STOP_WORDS = frozenset(_STOP.split())
_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("s", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), ("s", 60.0)),
    **dict.fromkeys(("h", "hour", "hours"), ("s", 3600.0)),
    **dict.fromkeys(("day", "days"), ("s", 86400.0)),
    **dict.fromkeys(("week", "weeks"), ("s", 604800.0)),
    **dict.fromkeys(("b", "byte", "bytes"), ("b", 1.0)),
    **dict.fromkeys(("kb", "kib", "kilobytes"), ("b", 1e3)),
    **dict.fromkeys(("mb", "mib", "megabytes"), ("b", 1e6)),
    **dict.fromkeys(("gb", "gib", "gigabytes"), ("b", 1e9)),
    **dict.fromkeys(("%", "percent"), ("%", 1.0)),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit; times are in seconds and sizes in bytes, so that equal figures are equal."""

    value: float
    unit: str
    text: str = ""


@lru_cache(maxsize=1024)
def stem(word: str) -> str:
    """Reduce a word so that its plural, past and continuous forms meet."""
    word = word.casefold()
    if word.isdecimal():
        return word
    for ending, shortest in (
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
    ):
        if len(word) >= shortest and word.endswith(ending) and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.rstrip("e") if len(word) > 3 else word


def keywords(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning; of a very long text, of its beginning."""
    return _keywords(text[:LONGEST])


@lru_cache(maxsize=512)
def _keywords(text: str) -> frozenset[str]:
    lowered = _WORD.findall(text.casefold())
    return frozenset(stem(word) for word in lowered if word not in STOP_WORDS)


def code_spans(text: str) -> tuple[str, ...]:
    """Return what stands in backticks."""
    return tuple(_SPAN.findall(text[:50_000])) if "`" in text else ()


def figures(text: str) -> tuple[Figure, ...]:
    """Return the numbers with their units, leaving out numbers that are part of a name."""
    return _figures(text[:LONGEST])


@lru_cache(maxsize=512)
def _figures(text: str) -> tuple[Figure, ...]:
    found = []
    for match in _FIGURE.finditer(text):
        unit = (match[2] or "").casefold()
        family, factor = _UNITS.get(unit, (stem(unit) if unit not in STOP_WORDS else "", 1.0))
        shown = match[0].strip() if family else match[1]
        found.append(Figure(float(match[1].replace(",", "")) * factor, family, shown))
    return tuple(found)


def limits(text: str) -> tuple[Figure, ...]:
    """Return the figures that have a unit."""
    return tuple(figure for figure in figures(text) if figure.unit)


def same_figures(one: Iterable[Figure], other: Iterable[Figure]) -> bool:
    """Tell whether two sets of figures state the same values, whatever the spelling."""
    return {round(f.value, 6) for f in one} == {round(f.value, 6) for f in other}


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much two sets of words have in common, from 0 to 1."""
    if not one or not other:
        return 0.0
    return len(one & other) / len(one | other)


def share(part: frozenset[str], whole: frozenset[str]) -> float:
    """Return which share of the words of one set the other contains."""
    return len(part & whole) / len(part) if part else 0.0


def normalise(text: str) -> str:
    """Reduce text to its bare words, so that marks, case and spacing do not count."""
    return " ".join(_WORD.findall(text.casefold()))


class WordIndex:
    """Find the sentence of a list that is nearest to a given one, looking only where words meet."""

    def __init__(self, texts: Sequence[str], *, common: int = 64) -> None:
        self.words = tuple(keywords(text) for text in texts)
        self._exact: dict[str, int] = {}
        self._places: dict[str, list[int]] = {}
        self._common = common
        for index, text in enumerate(texts):
            self._exact.setdefault(normalise(text), index)
            for word in self.words[index]:
                self._places.setdefault(word, []).append(index)

    def exact(self, text: str) -> int | None:
        """Return the index of the sentence with the same bare words."""
        return self._exact.get(normalise(text))

    def nearest(self, text: str) -> tuple[int, float] | None:
        """Return the most alike sentence and its likeness; words in too many sentences do not nominate."""
        wanted = keywords(text)
        candidates: set[int] = set()
        for word in wanted:
            places = self._places.get(word, ())
            if len(places) <= self._common:
                candidates.update(places)
        if not candidates:
            return None
        best = max(candidates, key=lambda index: (likeness(wanted, self.words[index]), -index))
        return best, likeness(wanted, self.words[best])
