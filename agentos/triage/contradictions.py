"""Find demands of one text that cannot both be met.

Two demands are compared only when they speak of the same thing in the same words, figures and denials aside: a false
alarm costs more trust than a contradiction that the reviewer has to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentos.documents.words import Figure, code_spans, figures, stem
from agentos.triage.polarity import CONCEPTS, Polarity, polarity_of, word_set

MOST_COMPARED = 400
_CODE = re.compile(r"`([^`\n]{0,300})`")
_WORD = re.compile(r"[a-z0-9_][a-z0-9_'\u2019-]*")
_NUMBER = re.compile(r"(?<![\w#./{$-])\d[\d,]{0,15}(?:\.\d{1,9})?(?: ?(?:%|[A-Za-z]{1,20}))?")
_MARK = re.compile(
    r"(?P<upper>\bat most\b|\bup to\b|\bmax(?:imum)?\b|\b(?:no|not) (?:more|longer|larger|later) than\b|\bcapped at\b"
    r"|\blimit(?:ed)? (?:of|to|is)\b|\bwithin\b|<=|≤)"
    r"|(?P<lower>\bat least\b|\bmin(?:imum)?\b|\b(?:no|not) (?:less|fewer|shorter) than\b|>=|≥)"
    r"|(?P<more>\b(?:more|longer|larger) than\b|\bover\b|\bexceed(?:s|ing)?\b)"
    r"|(?P<less>\b(?:less|fewer|shorter) than\b|\bunder\b|\bbelow\b)"
    r"|(?P<exact>\bexactly\b|\bdefaults? (?:to|of|is)\b|\blasts\b|\bexpires? (?:after|in)\b|\btimes? out after\b"
    r"|\btimeout (?:of|is)\b)"
    r"|(?P<code>\bexit (?:code|status)\b|\bstatus(?: code)?\b)",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(?:no|not|never|without|none|neither|nor|cannot|out of scope)\b|n['\u2019]t\b", re.IGNORECASE)
_REACH = 24
_FILLER = frozenset(
    map(
        stem,
        word_set(
            "system tool app application user must shall should always ever also allow allowed support supported take "
            "taken contain contains hold holds have has keep keeps total altogether maximum minimum max min most least "
            "limit limited capped within under below exceed exactly default defaults times time "
            "ms s sec secs second seconds millisecond milliseconds min mins minute minutes h hour hours percent"
        ),
    )
)
_STOP = word_set(
    "a an and any are as at be been by can could do does each every for from if in into is it its may might of on one "
    "or other per so such than that the their then there these they this those to too up was were will with would all "
    "more less fewer longer larger shorter no not"
)


@dataclass(frozen=True, slots=True)
class Clash:
    """Two demands that exclude each other, and the words in which they do."""

    one: str
    other: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class _Limit:
    kind: str
    figure: Figure

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.figure.unit


@dataclass(frozen=True, slots=True)
class _Claim:
    text: str
    subject: tuple[str, ...]
    """The words that say what it is about, in their order."""
    spans: tuple[str, ...]
    limits: tuple[_Limit, ...]
    conditions: tuple[tuple[float, str], ...]
    """Figures that are no limits."""
    polarity: Polarity | None


def find_contradictions(statements: Sequence[str]) -> Iterator[Clash]:
    """Give the pairs of statements that exclude each other, each statement against the first of its kind."""
    by_subject: dict[tuple[frozenset[str], tuple[str, ...]], list[_Claim]] = {}
    by_stance: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Claim]] = {}
    for text in statements[:MOST_COMPARED]:
        claim = _read(text)
        if claim.limits and len(claim.subject) + len(claim.spans) >= 2:
            known = by_subject.setdefault((frozenset(claim.subject), claim.spans), [])
            clash = next((found for other in known[:8] if (found := _compare_limits(other, claim))), None)
            if clash is not None:
                yield clash
            known.append(claim)
        if claim.polarity is not None and len(claim.polarity.subject) + len(claim.spans) >= 2:
            known = by_stance.setdefault((claim.polarity.subject, claim.spans), [])
            clash = next((found for other in known[:8] if (found := _compare_stances(other, claim))), None)
            if clash is not None:
                yield clash
            known.append(claim)


def _read(text: str) -> _Claim:
    # A span that is nothing but a number is a number.
    text = _CODE.sub(lambda span: span[1] if span[1].isdigit() else span[0], text)
    bare = _CODE.sub(" ", text)
    limits, conditions = [], []
    for match in _NUMBER.finditer(bare):
        figure = next(iter(figures(match[0])), None)
        if figure is None:
            continue
        mark = _mark_before(bare, match.start())
        if mark:
            limits.append(_Limit(mark, figure))
        else:
            conditions.append((round(figure.value, 6), figure.unit))
    words = (word for word in _WORD.findall(bare.casefold()) if not word[0].isdigit() and word not in _STOP)
    subject = tuple(dict.fromkeys(stemmed for word in words if (stemmed := stem(word)) not in _FILLER))
    spans = tuple(sorted(code_spans(text)))
    polarity = polarity_of(_CODE.sub(" code_span ", text))
    return _Claim(text, subject, spans, tuple(limits), tuple(sorted(conditions)), polarity)


def _mark_before(text: str, start: int) -> str:
    """Return what kind of limit the words right before a number make of it, empty when none."""
    window = text[max(0, start - 2 * _REACH) : start]
    last = None
    for mark in _MARK.finditer(window):
        last = mark
    if last is None or len(window) - last.end() > _REACH or any(stop in window[last.end() :] for stop in ",;."):
        return ""
    return str(last.lastgroup)


def _compare_limits(one: _Claim, other: _Claim) -> Clash | None:
    if one.conditions != other.conditions or (len(one.subject) > 2 and one.subject != other.subject):
        return None
    crossed = _crossed(one.limits, other.limits)
    if crossed:
        return Clash(one.text, other.text, *crossed)
    first = {limit.key: limit.figure for limit in one.limits}
    second = {limit.key: limit.figure for limit in other.limits}
    if first.keys() != second.keys() or len(first) != len(one.limits) or len(second) != len(other.limits):
        return None
    differing = [key for key in first if abs(first[key].value - second[key].value) > 1e-9]
    if len(differing) != 1:
        return None
    return Clash(one.text, other.text, first[differing[0]].text, second[differing[0]].text)


def _crossed(one: Sequence[_Limit], other: Sequence[_Limit]) -> tuple[str, str] | None:
    """Return a least and a most of the same thing where the least is above the most."""
    if len(one) != 1 or len(other) != 1 or one[0].figure.unit != other[0].figure.unit:
        return None
    kinds = one[0].kind, other[0].kind
    if kinds not in (("lower", "upper"), ("upper", "lower")):
        return None
    low, high = (one[0], other[0]) if kinds[0] == "lower" else (other[0], one[0])
    if low.figure.value <= high.figure.value:
        return None
    return one[0].figure.text, other[0].figure.text


def _compare_stances(one: _Claim, other: _Claim) -> Clash | None:
    first, second = one.polarity, other.polarity
    if first is None or second is None or first.is_positive == second.is_positive:
        return None
    if one.conditions != other.conditions or _without_codes(one) != _without_codes(other):
        return None
    return Clash(one.text, other.text, first.word, second.word)


def _without_codes(claim: _Claim) -> list[_Limit]:
    """Return the limits but for those that tell how something is refused."""
    return [limit for limit in claim.limits if limit.kind != "code"]


def contradicts_exclusion(statement: str, exclusion: str) -> str:
    """Return the words of an out-of-scope line that a demand asks for all the same, empty when it does not."""
    head = _head(exclusion)
    excluded = [span for span in code_spans(head) if len(span) >= 3]
    if excluded:
        is_named = excluded[0] in code_spans(statement) and len(_content(_CODE.sub(" ", head))) <= 2
        return f"`{excluded[0]}`" if is_named and not _denies(statement) else ""
    wanted, present = _content(head), _content(statement)
    if len(wanted) < 2 or not set(wanted).issubset(present) or _denies(statement):
        return ""
    starts = range(len(present) - len(wanted) + 1)
    return head if any(present[start : start + len(wanted)] == wanted for start in starts) else ""


def _denies(statement: str) -> bool:
    return _DENIAL.search(statement) is not None


def _head(exclusion: str) -> str:
    """Return what an out-of-scope line excludes, without the reason that follows."""
    text = exclusion.replace("**", "").strip()
    for separator in (" \u2014 ", " \u2013 ", " - ", ": ", "; ", ", ", " (", ". "):
        text = text.partition(separator)[0]
    return text.rstrip(".").strip()


@lru_cache(maxsize=1024)
def _content(text: str) -> tuple[str, ...]:
    """Return the words that carry meaning; a code span is one that no other word equals."""
    words = _WORD.findall(_CODE.sub(" __code__ ", text[:2000]).casefold())
    return tuple(stem(word) for word in words if word not in _STOP and word not in CONCEPTS)
