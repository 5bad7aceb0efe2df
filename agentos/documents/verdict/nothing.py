"""Tell whether an entry of a list says that there is nothing to list."""

from __future__ import annotations

import re

from agentos.documents.verdict.marks import bare, options
from agentos.documents.verdict.vocabulary import word_set

_CLAUSE = re.compile(r"[.,;:!?()\u2013\u2014]|\s-\s")
_WORDS = re.compile(r"[^\W_]+")
_ALONE = word_set(
    "none nothing nil na pass passed ok okay fine clear clean acceptable satisfied met compliant approved"
)
_AFTER = word_set(
    "found identified noted detected remaining remain here exist were was are at this time in the lld design document"
    " issue spec to report raised for section have been apply applicable required needed tier 1 2 3 blocking further"
    " outstanding open pending or and present that block additional all significant major critical of on orchestrator"
    " known from my review side"
)
_THINGS = word_set(
    "issue issues finding findings concern concerns problem problems blocker blockers suggestion suggestions question"
    " questions comment comments violation violations impact implications recommendations objections"
)
_TURNS = word_set("but however except although though yet besides otherwise")


def says_nothing(text: str) -> bool:
    """Tell whether a text is `None.`, `No issues found.` or the like, and takes nothing of it back."""
    clean = bare(text[:2_000])
    boxed = options(clean)
    if boxed:
        clean = boxed[0].text
    clauses = [_WORDS.findall(clause.casefold()) for clause in _CLAUSE.split(clean)]
    clauses = [clause for clause in clauses if clause]
    if not clauses:
        return not any(letter.isalnum() for letter in text)
    if any(_TURNS.intersection(clause) for clause in clauses):
        return False
    return _is_empty(clauses[0])


def _is_empty(words: list[str]) -> bool:
    if words[:2] in (["n", "a"], ["not", "applicable"]) or (words == ["n"]):
        return len(words) <= 3
    if words[0] in _ALONE:
        return len(words) == 1 or (words[0] == "none" and words[1] != "of" and _AFTER.issuperset(words[1:]))
    if words[0] != "no":
        return False
    place = next((n for n, word in enumerate(words[1:6], 1) if word in _THINGS), None)
    return place is not None and (_THINGS | _AFTER).issuperset(words[place + 1 :])
