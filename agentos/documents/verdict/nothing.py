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
_PREFACE = word_set("there is are were was i we have has found see saw identified been")
_FINDING = word_set("find found identify identified see seen detect detected")
_SETTLED = word_set("resolved addressed fixed closed cleared")
_ALL = (
    _SETTLED
    | _THINGS
    | word_set(
        "all previously previous prior earlier raised reported blocking tier 1 2 3 have has been are were now"
        " fully from round the of review last my items both every each"
    )
)
_BAD = word_set(
    "not missing lacks lacking fail fails failed leaks leaked leak open unresolved wrong broken unbounded unclear"
    " unsafe insecure still must should needs no never without undefined"
)
_GOOD = word_set(
    "bounded ok okay fine sound safe pass passes passed verified resolved fixed addressed clean compliant met"
)
_TICKS = frozenset("\u2705\u2714\u2713\u2611")
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
    if _is_empty(clauses[0]):
        return True
    if len(clauses) < 2 or clauses[-1][0] not in ("no", "none") or "&#" in clean:
        return False
    return _is_empty(clauses[-1]) and not any(_BAD.intersection(clause) for clause in clauses[:-1])


def is_pass(text: str, is_checked: bool | None, is_named: bool) -> bool:
    """Tell whether an entry of a tier is ticked off: a check that passed and no finding."""
    clean = bare(text[:2_000])
    words = set(_WORDS.findall(clean.casefold()))
    if words & (_BAD | _TURNS):
        return False
    return clean[:1] in _TICKS or (is_checked is True and (is_named or bool(words & _GOOD)))


def _is_empty(words: list[str]) -> bool:
    if words[:2] in (["n", "a"], ["not", "applicable"]) or (words == ["n"]):
        return len(words) <= 3
    if words[0] in ("all", "both", "every", "each"):
        return _ALL.issuperset(word for word in words if not word.isdigit()) and bool(_SETTLED.intersection(words))
    words = _without_preface(words)
    if words[0] in _ALONE:
        return len(words) == 1 or (
            words[0] in ("none", "nothing") and words[1] != "of" and _AFTER.issuperset(words[1:])
        )
    if words[0] != "no":
        return False
    place = next((n for n, word in enumerate(words[1:6], 1) if word in _THINGS), None)
    return place is not None and (_THINGS | _AFTER).issuperset(words[place + 1 :])


def _without_preface(words: list[str]) -> list[str]:
    """Return `There are no issues` and `I did not find any issues` as `no issues`."""
    start = 0
    while start < len(words) - 1 and start < 4 and words[start] in _PREFACE:
        start += 1
    rest = words[start:]
    if (
        rest[0] in ("did", "do", "could", "can")
        and rest[1:2] == ["not"]
        and rest[3:4] == ["any"]
        and rest[2] in _FINDING
    ):
        return ["no", *rest[4:]]
    is_negated = rest[0] in ("no", "none", "nothing", "not")
    return rest if is_negated else words
