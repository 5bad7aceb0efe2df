"""The grammar of a stated decision: `APPROVED - ready for implementation`.

A statement is a short lead (`This design is`), a phrase that names a decision, and what follows it. An approval
counts only when what follows takes nothing back: the words that stand directly after it come from a closed list,
and no clause after a dash, comma or bracket begins with a condition. Whatever else begins with a decision is
unclear, and an unclear statement is no approval.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from agentos.documents.verdict.model import Decision
from agentos.documents.verdict.vocabulary import (
    AFTER,
    BREAKS,
    CAPITALS,
    CHOICES,
    CONDITIONS,
    FIRST_WORDS,
    HARD,
    LEAD,
    LONGEST_PHRASE,
    OPTIONAL,
    ORDERS,
    PHRASES,
    SINGLE,
    SOFT,
    SOFT_ADJECTIVES,
    WARNINGS,
    WITH_NO,
    YES,
)

_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|\S")
LONGEST = 6_000
_REACH = 300
_MOST_LEADING = 10
_LEADING = LEAD | YES | WARNINGS | {"`", "[", ":"}


@dataclass(frozen=True, slots=True)
class Stated:
    """A decision that a text begins with, None when it is not a clear one."""

    decision: Decision | None
    explanation: str
    is_emphatic: bool
    """The decision is written in capitals or stands alone."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    is_apart: bool
    """White space stands before it."""
    end: int

    @property
    def low(self) -> str:
        return self.text.casefold()

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum()


def read_decision(text: str) -> Stated | None:
    """Return what decision a bare text states, or None when it does not begin with one."""
    text = text.rstrip(" \\")
    if not _may_decide(text):
        return None
    if _match(words := _tokenise(text[:_REACH]), _skip_lead(words)[0]) is None:
        return None
    words = _tokenise(text[:LONGEST])
    start, is_code, is_bracket = _skip_lead(words)
    found = _match(words, start)
    if found is None:
        return None
    decision, end = found
    is_emphatic = all(word.text.isupper() for word in words[start:end] if word.is_word) or end == len(words)
    rest, is_closed = _close(words[end:], is_code, is_bracket)
    explanation = text[words[end - 1].end :].strip(" -\u2013\u2014:.,;!`")
    is_warned = decision is Decision.APPROVED and any(word.text in WARNINGS for word in words[:start])
    if not is_closed or is_warned or _is_choice(rest):
        return Stated(None, explanation, is_emphatic)
    if decision is Decision.APPROVED and not (len(text) <= LONGEST and _is_clean(rest)):
        return Stated(None, explanation, is_emphatic)
    return Stated(decision, explanation, is_emphatic)


def _may_decide(text: str) -> bool:
    """Tell quickly that none of the first words, up to one that is no lead, begins a phrase."""
    for match in islice(_TOKEN.finditer(text, 0, _REACH), _MOST_LEADING + 1):
        low = match[0].casefold()
        if low in FIRST_WORDS:
            return True
        if low not in _LEADING:
            return False
    return False


def names_a_decision(text: str) -> bool:
    """Tell whether a text begins with a decision, clear or not."""
    return read_decision(text) is not None


def is_condition(text: str) -> bool:
    """Tell whether a paragraph below an approval begins by taking it back."""
    tokens = _tokenise(text[:200])
    words = [word.low for word in tokens if word.is_word]
    for before, word in pairwise(tokens):
        if word.text in CAPITALS and before.text in BREAKS:
            return True
    start = words[1:] if words[:1] == ["but"] else words
    return start[:1] != [] and (
        start[0] in ("pending", "provided", "subject", "contingent", "conditional", "conditions", "unless", "once")
        or words[:3] in (["this", "approval", "is"], ["the", "approval", "is"], ["my", "approval", "is"])
        or start[:2] in (["only", "if"], ["only", "after"], ["only", "once"], ["not", "approved"])
    )


def _tokenise(text: str) -> list[_Word]:
    found: list[_Word] = []
    before = 0
    for match in _TOKEN.finditer(text):
        found.append(_Word(match[0], match.start() > before or match.start() == 0, match.end()))
        before = match.end()
    return found


def _skip_lead(words: Sequence[_Word]) -> tuple[int, bool, bool]:
    """Return where the phrase may begin, and whether a code mark or a bracket stands before it."""
    position, is_code, is_bracket = 0, False, False
    while position < len(words) and position < _MOST_LEADING:
        low = words[position].low
        if low == "`" and not is_code:
            is_code = True
        elif low == "[" and not is_bracket and not is_code:
            is_bracket = True
        elif low == ":" and position and words[position - 1].low in ("verdict", "decision", "is"):
            pass
        elif not (low in YES or low in WARNINGS or (low in LEAD and not is_code and _match(words, position) is None)):
            break
        position += 1
    return position, is_code, is_bracket


def _match(words: Sequence[_Word], start: int) -> tuple[Decision | None, int] | None:
    """Return the decision of the longest phrase that begins here, and where it ends."""
    if start >= len(words) or words[start].low not in FIRST_WORDS:
        return None
    best: tuple[Decision | None, int] | None = None
    taken: list[str] = []
    position = start
    while position < len(words) and len(taken) < LONGEST_PHRASE:
        word = words[position]
        if word.text in "-_" and taken and not word.is_apart:
            position += 1
            continue
        taken.append(word.low)
        position += 1
        if tuple(taken) in PHRASES:
            best = PHRASES[tuple(taken)], position
    return best


def _close(rest: Sequence[_Word], is_code: bool, is_bracket: bool) -> tuple[Sequence[_Word], bool]:
    """Drop what closes the lead's code mark and bracket; tell whether it is there at once."""
    if is_code:
        if not rest or rest[0].text != "`":
            return rest, False
        rest = rest[1:]
    if is_bracket:
        if not rest or rest[0].text != "]":
            return rest, False
        rest = rest[1:]
    while rest and (rest[0].text in YES or rest[0].text in "]!"):
        rest = rest[1:]
    return rest, True


def _is_choice(rest: Sequence[_Word]) -> bool:
    """Tell whether another decision is offered beside the first."""
    if not rest:
        return False
    if rest[0].text in CHOICES:
        return not _is_next_field(rest, 0)
    is_arrow = rest[0].text in "-=" and len(rest) > 1 and rest[1].text == ">"
    return is_arrow or (rest[0].low in ("or", "vs", "versus", "and") and _match(rest, 1) is not None)


def _is_next_field(rest: Sequence[_Word], position: int) -> bool:
    """Tell whether a bar stands here that parts the decision from another field, as in `| Confidence: High`."""
    following = [word.low for word in rest[position + 1 : position + 3]]
    return rest[position].text == "|" and following[:1] in (["confidence"], ["reviewer"], ["date"]) and ":" in following


def _is_clean(rest: Sequence[_Word]) -> bool:
    """Tell whether what follows an approval takes nothing back."""
    if _is_denied(rest) or any(one.text == "[" and two.text == "^" for one, two in pairwise(rest)):
        return False
    position = 0
    while position < len(rest) and rest[position].is_word:
        following = _after_approval(rest, position)
        if following is None:
            return False
        position = following
    if position < len(rest) and rest[position].text not in BREAKS and rest[position].text not in YES:
        return _is_next_field(rest, position) and _are_clauses_clean(rest[position + 1 :])
    return _are_clauses_clean(rest[position:])


def _is_denied(rest: Sequence[_Word]) -> bool:
    """Tell whether another decision in capitals follows that is not an earlier one, or a plain `: no`."""
    for place, word in enumerate(rest):
        if word.text in CAPITALS and not (place and rest[place - 1].low in ("was", "previously", "previous", "prior")):
            return True
    answer = [word.low for word in rest[:3]]
    return answer[:1] == [":"] and answer[1:2] in (["no"], ["false"]) and (len(answer) < 3 or not rest[2].is_word)


def _after_approval(rest: Sequence[_Word], position: int) -> int | None:
    """Return where the words end that may stand directly after an approval, None when others do."""
    low = rest[position].low
    if low in SINGLE:
        return position + 1
    if low == "with":
        return _after_with(rest, position + 1)
    if low == "w" and position + 1 < len(rest) and rest[position + 1].text == "/":
        return _after_with(rest, position + 2)
    if low in ("because", "since") or (
        low == "as" and [word.low for word in rest[position + 1 : position + 2]] == ["all"]
    ):
        return _reason(rest, position + 1)
    if low == "by":
        return _run(rest, position + 1, None)
    if low in AFTER:
        return _run(rest, position + 1, AFTER[low])
    return None


def _run(rest: Sequence[_Word], position: int, allowed: frozenset[str] | None) -> int | None:
    start = position
    while position < len(rest) and position - start < 8 and _is_inside(rest, position):
        low = rest[position].low
        is_joint = low in "-_" and position > 0
        if (low not in allowed and not is_joint) if allowed is not None else (low in CONDITIONS):
            break
        position += 1
    return position if position > start else None


def _reason(rest: Sequence[_Word], position: int) -> int | None:
    """Return where a reason ends, None when a condition stands in it."""
    start = position
    while position < len(rest) and _is_inside(rest, position):
        if rest[position].low in CONDITIONS:
            return None
        position += 1
    return position if position > start else None


def _is_inside(rest: Sequence[_Word], position: int) -> bool:
    word = rest[position]
    return word.is_word or (word.text in "-_" and not word.is_apart)


def _after_with(rest: Sequence[_Word], position: int) -> int | None:
    if position < len(rest) and rest[position].low == "no":
        return _run(rest, position + 1, WITH_NO)
    is_soft = False
    while position < len(rest) and _is_inside(rest, position):
        low = rest[position].low
        if low in SOFT:
            is_soft = True
        elif low not in SOFT_ADJECTIVES and low not in "-_":
            break
        position += 1
    return position if is_soft else None


def _are_clauses_clean(rest: Sequence[_Word]) -> bool:
    """Tell whether no clause of an explanation begins with a condition or an order to be done first."""
    is_start = True
    is_order = False
    for position, word in enumerate(rest):
        low = word.low
        if not word.is_word:
            glued = not word.is_apart and position + 1 < len(rest) and not rest[position + 1].is_apart
            is_start = is_start or (word.text in BREAKS and not glued)
            is_order = is_order and word.text not in ".!?"
            continue
        if low == "to" and position and rest[position - 1].low == "subject":
            return False
        if low in ("contingent", "conditional", "conditionally", "bedingung", "voraussetzung"):
            return False
        if low == "condition" and position and rest[position - 1].low in ("\u00e0", "a", "on"):
            return False
        if low in ("first", "before") and is_order:
            return False
        if is_start and low == "with" and HARD.intersection(word.low for word in rest[position + 1 : position + 6]):
            return False
        if is_start and low in CONDITIONS and not _is_optional(rest, position):
            return False
        is_order = is_order or (is_start and low in ORDERS)
        is_start = low in ("but", "and", "then", "please") and (is_start or low == "but")
    return True


def _is_optional(rest: Sequence[_Word], position: int) -> bool:
    following = [word.low for word in rest[position + 1 : position + 4] if word.is_word]
    sentence = [word.low for word in rest[position + 1 : position + 25] if word.is_word]
    match rest[position].low:
        case "not":
            return following[:2] == ["a", "single"]
        case "if":
            return following[:2] in (["time", "allows"], ["time", "permits"]) and "consider" in sentence[:6]
        case "only":
            is_left = bool({"remain", "remaining"} & set(sentence[:6])) and not CONDITIONS.intersection(sentence[:6])
            return is_left and bool(SOFT.intersection(sentence[:4]))
        case "after":
            is_past = following[:1] in (["one"], ["two"], ["three"], ["both"]) and following[1:2] in (
                ["rounds"],
                ["round"],
            )
            return is_past and bool({"closed", "resolved", "addressed"} & set(sentence[:10]))
        case "although" if SOFT.intersection(following):
            return "none" in sentence
    return rest[position].low in ("but", "however", "though", "although") and bool(OPTIONAL.intersection(following))
