"""Find claims that cannot be checked."""

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
_VAGUE_STEMS = frozenset(map(stem, _VAGUE.replace("-", " ").split()))
_GENERIC_STEMS = frozenset(map(stem, _GENERIC.split()))
_EMPTY_STEMS = frozenset(map(stem, _EMPTY.split()))


def vague_words(claim: str) -> tuple[str, ...]:
    """Return the words that no measure backs, nothing if the claim can be checked."""
    if code_spans(claim) or figures(claim) or '"' in claim:
        return ()
    words = keywords(claim)
    if not words & _VAGUE_STEMS:
        return ()
    # A vague word does no harm in a claim that is otherwise specific.
    specific = words - _VAGUE_STEMS - _GENERIC_STEMS
    if len(specific) > 2:
        return ()
    found: dict[str, None] = {}
    for word in claim.split():
        plain = word.strip(".,;:!?()*_").casefold()
        stems = map(stem, plain.split("-"))
        if not _VAGUE_STEMS.isdisjoint(stems):
            found[plain] = None
    return tuple(found)


def asserts_nothing(expected: str) -> bool:
    """Tell whether an expected result says no more than that it works."""
    return keywords(expected) <= _EMPTY_STEMS
