"""Tell whether a sentence affirms or denies, and of what, where that can be told for certain."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.documents.words import stem

_WORD = re.compile(r"[a-z0-9_][a-z0-9_'\u2019-]*|,")


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(words.split())


_BE = word_set("is are be was were stays stay remains remain becomes become must gets")
_NOT = frozenset(("not", "never", "cannot"))
_UNCERTAIN = word_set(
    "without unless except only no nor neither nothing none nobody but either some sometimes instead rather"
)
_OPENERS = word_set("if when whenever while where whose which who that until once after before because as")
_ARTICLES = word_set("a an the each every all any its their")
_STOP = word_set(
    "a an and any are as at be been by can could do does did each every for from has have in into is it its may might "
    "must of on or per shall should so than that the their then there these they this those to too up was were will "
    "with would all if when system also always gets stays remains becomes"
)
CONCEPTS: dict[str, tuple[str, bool]] = {
    **dict.fromkeys(("required", "mandatory", "requires"), ("need", True)),
    **dict.fromkeys(("optional",), ("need", False)),
    **dict.fromkeys(("enabled",), ("switch", True)),
    **dict.fromkeys(("disabled",), ("switch", False)),
    **dict.fromkeys(("accepted", "accepts", "allowed", "allows", "permitted", "permits"), ("accept", True)),
    **dict.fromkeys(
        ("refused", "refuses", "rejected", "rejects", "forbidden", "forbids", "denied", "denies"), ("accept", False)
    ),
    **dict.fromkeys(("kept", "keeps", "retained", "retains", "preserved", "preserves"), ("keep", True)),
    **dict.fromkeys(("deleted", "deletes", "removed", "removes", "discarded", "discards"), ("keep", False)),
    **dict.fromkeys(("visible",), ("show", True)),
    **dict.fromkeys(("hidden",), ("show", False)),
    **dict.fromkeys(("ascending",), ("order", True)),
    **dict.fromkeys(("descending",), ("order", False)),
    **dict.fromkeys(("oldest",), ("age", True)),
    **dict.fromkeys(("newest",), ("age", False)),
}
_ANYWHERE = frozenset(("ascending", "descending"))
_TAILS = (" with exit", " with status", " with code", " with a message", " with an error", " with the message")


@dataclass(frozen=True, slots=True)
class Polarity:
    """What a sentence is about and whether it affirms it."""

    subject: tuple[str, ...]
    is_positive: bool
    word: str
    """The word that decides: `refused`, `not replaced`."""


def polarity_of(text: str) -> Polarity | None:
    """Return what a sentence affirms or denies; None for one that is too short or in which it cannot be told."""
    lowered = text.casefold()[:2000]
    for tail in _TAILS:
        lowered = lowered.partition(tail)[0]
    words = [_plain(word) for word in _WORD.findall(lowered)]
    if len(words) < 3 or _UNCERTAIN.intersection(words):
        return None
    denials = [place for place, word in enumerate(words) if word in _NOT]
    signs = [place for place in range(len(words)) if _is_sign(words, place)]
    if len(denials) > 1 or len(signs) > 1 or any(_is_subordinate(words, place) for place in (*denials, *signs)):
        return None
    concept, is_positive = CONCEPTS[words[signs[0]]] if signs else ("", True)
    subject = [stem(word) for place, word in enumerate(words) if _counts(word) and place not in signs]
    if len(subject) < 2:
        return None
    decisive = [words[signs[0]]] if signs else [_next_word(words, denials[0])] if denials else []
    word = " ".join([*(["not"] if denials else []), *decisive])
    return Polarity((*subject, f"+{concept}" if concept else ""), is_positive is not bool(denials), word)


def _plain(word: str) -> str:
    """Write `doesn't` and the like as `not`."""
    return "not" if word.endswith(("n't", "n\u2019t")) else word


def _counts(word: str) -> bool:
    return word != "," and word not in _STOP and word not in _NOT


def _is_sign(words: list[str], place: int) -> bool:
    """Tell whether a word with an opposite is said of the subject, not just an attribute of some noun."""
    word = words[place]
    if word not in CONCEPTS:
        return False
    if word in _ANYWHERE:
        return True
    if word in ("oldest", "newest"):
        return words[place + 1 : place + 2] == ["first"]
    before = words[max(0, place - 3) : place]
    if word.endswith("s"):
        return bool(before) and before[-1] not in _ARTICLES
    return bool(_BE.intersection(before))


def _is_subordinate(words: list[str], place: int) -> bool:
    """Tell whether a word stands in a clause such as `when the file does not exist`."""
    for word in reversed(words[:place]):
        if word == ",":
            return False
        if word in _OPENERS:
            return True
    return False


def _next_word(words: list[str], place: int) -> str:
    return next((word for word in words[place + 1 :] if word != ","), "")
