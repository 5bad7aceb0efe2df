"""Tell claims that can be checked from claims that cannot."""

from __future__ import annotations

from agentos.documents.words import code_spans, figures, keywords, stem

_VAGUE = """
fast faster quick quickly nice nicer friendly user-friendly robust intuitive modern easy easier
easily good better best seamless smooth smoothly reliable efficient efficiently scalable simple
simpler clean pleasant delightful responsive performant beautiful great improved appropriate
sensible flexible powerful attractive snappy enjoyable
"""
_GENERIC = """
app application system tool product page screen dashboard interface ui ux experience user users
people performance feel feels look looks overall generally feature features should must be work
works working very really everything code solution thing things everyone anyone customer customers
design behaviour quality more much way
"""
_EMPTY = """
work works working worked correct correctly expected properly fine ok okay success successful
successfully pass passes passed function functions good right behaves behave result results output
everything test tests it done intended
"""
VAGUE_STEMS = frozenset(stem(word) for word in _VAGUE.replace("-", " ").split())
_GENERIC_STEMS = frozenset(stem(word) for word in _GENERIC.split())
_EMPTY_STEMS = frozenset(stem(word) for word in _EMPTY.split())


def vague_words(claim: str) -> tuple[str, ...]:
    """Return the words for which a claim has no measure; empty when the claim can be checked."""
    if code_spans(claim) or figures(claim) or '"' in claim:
        return ()
    words = keywords(claim)
    if not words & VAGUE_STEMS or len(words - VAGUE_STEMS - _GENERIC_STEMS) > 2:
        return ()
    plain = (word.strip(".,;:!?()*_").casefold() for word in claim.split())
    found = [word for word in plain if any(stem(part) in VAGUE_STEMS for part in word.split("-"))]
    return tuple(dict.fromkeys(found))


def asserts_nothing(expected: str) -> bool:
    """Tell whether an expected result only says that it works."""
    return not (keywords(expected) - _EMPTY_STEMS)
