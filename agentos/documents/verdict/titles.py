"""Tell what a heading of a review is about, by a closed vocabulary: an unknown word makes an unknown heading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from agentos.documents.findings import Category, Tier
from agentos.documents.verdict.decisions import names_a_decision
from agentos.documents.verdict.marks import bare, low_letters
from agentos.documents.verdict.vocabulary import word_set


class Role(Enum):
    """The part that a section plays in a review."""

    OPENING = auto()
    VERDICT = auto()
    FINDINGS = auto()
    COVERAGE = auto()
    GATE = auto()
    RESOLVED = auto()
    QUESTIONS = auto()
    SUMMARY = auto()
    REMARKS = auto()
    FOREIGN = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Title:
    """What a heading says: its role, the value it gives, and the tier or category of findings under it."""

    role: Role
    value: str = ""
    tier: Tier | None = None
    category: Category | None = None
    is_strong: bool = False
    """A section that has to state a decision."""


_FILL = word_set("the of and for a my our on s in to")
_VERDICT_HEADS = word_set("verdict decision urteil entscheidung")
_WEAK_HEADS = word_set("recommendation outcome result conclusion approval ergebnis")
_STATUS_HEADS = word_set("status readiness assessment")
_STATUS_WORDS = _STATUS_HEADS | word_set("review overall final implementation gate current the my our for of")
_VERDICT_WORDS = (
    _FILL
    | _VERDICT_HEADS
    | _WEAK_HEADS
    | word_set(
        "final overall review reviewer reviewers governance lld design document issue spec specification"
        " technical formal official architect architects rationale justification recommendations status"
        " implementation readiness ai"
        " section reasoning explanation is current revised updated new gate assessment round"
    )
)
_THINGS = word_set("issues issue findings finding concerns concern problems problem items item list identified found")
_BLOCKING_HEADS = word_set("blocking blockers blocker critical conditions showstoppers mandatory")
_BLOCKING_WORDS = (
    _FILL
    | _THINGS
    | _BLOCKING_HEADS
    | word_set("must fix required requirements changes fixes actions action approval priority severity")
)
_HIGH_HEADS = word_set("high major important should")
_HIGH_WORDS = _FILL | _THINGS | _HIGH_HEADS | word_set("priority severity fix address")
_SOFT_HEADS = word_set(
    "suggestion suggestions minor optional nits nice recommendations improvements low nonblocking medium"
)
_SOFT_WORDS = _FILL | _THINGS | _SOFT_HEADS | word_set("have priority severity non blocking improvement could notes")
_URGENT = word_set("must required critical p0 severity blocker blockers blocking")
_SETTLED = word_set("no non not zero without resolved addressed fixed closed path by legend none")
_COVERAGE_WORDS = _FILL | word_set(
    "requirement requirements coverage test tests analysis matrix table section 3 mandatory traceability by scenarios"
    " scenario check report mapping"
)
_SUMMARY_WORDS = _FILL | word_set("review executive summary overall overview lld design")
_FOREIGN_WORDS = word_set(
    "previous previously prior earlier history quoted quote quotes excerpt example examples appendix template"
    " original changelog transcript sample quotation past superseded outdated old"
)
_REMARK_WORDS = _FILL | word_set(
    "conclusion overall assessment final thoughts closing remarks remark next steps rationale evaluation sign off"
    " signoff governance review technical notes note metadata information identity confirmation lld"
    " design detailed analysis"
    " general strengths weaknesses comments feedback approval reasoning justification explanation details"
    " result outcome"
)
_TIERS = {
    "1": Tier.BLOCKING,
    "2": Tier.HIGH,
    "3": Tier.SUGGESTION,
    "i": Tier.BLOCKING,
    "ii": Tier.HIGH,
    "iii": Tier.SUGGESTION,
}
_CATEGORIES: dict[str, Category] = {
    **dict.fromkeys(("cost", "costs", "budget"), Category.COST),
    **dict.fromkeys(("safety",), Category.SAFETY),
    **dict.fromkeys(("security", "privacy"), Category.SECURITY),
    **dict.fromkeys(("legal", "compliance", "licensing", "license"), Category.LEGAL),
    **dict.fromkeys(("architecture", "architectural", "design"), Category.ARCHITECTURE),
    **dict.fromkeys(("observability", "logging", "monitoring"), Category.OBSERVABILITY),
    **dict.fromkeys(("quality", "testing", "tests", "documentation"), Category.QUALITY),
}
_WORD = re.compile(r"[^\W_]+")
_LONGEST_TITLE = 400
_HEADS = tuple(sorted(_VERDICT_HEADS | _WEAK_HEADS | _STATUS_HEADS))
_SEPARATORS = re.compile("[:\\-\u2013\u2014=\u2192|\uff1a]")
_ROMAN = word_set("i ii iii iv v vi vii viii ix x")
_NUMBERED = word_set("section part step phase chapter")


def may_name_a_verdict(text: str) -> bool:
    """Tell quickly that the beginning of a text cannot hold the name of the verdict."""
    low = low_letters(text[:120])
    return any(map(low.__contains__, _HEADS))


def words_of(text: str) -> list[str]:
    """Return the lower-case words of a bare text."""
    if text.isalnum() and text.isascii():
        return [text[:400].lower()]
    return _WORD.findall(bare(text[:400]).casefold()) if text else []


def read_title(text: str) -> Title:
    """Return what a heading, or a line that stands as one, is about."""
    return _read_title(text[: _LONGEST_TITLE + 1])


@lru_cache(maxsize=1024)
def _read_title(text: str) -> Title:
    clean = bare(text[:_LONGEST_TITLE])
    head, _, note = clean.partition("(")
    whole = head.strip() or clean
    aside, closed, after = note.partition(")")
    is_valued = bool(closed) and after.lstrip()[:1] in (":", "-", "\u2013", "\u2014")
    if is_valued and verdict_label(words_of(f"{head} {aside}")):
        is_strong = verdict_label(words_of(head)) == "verdict"
        return Title(Role.VERDICT, after.lstrip()[1:].strip(), is_strong=is_strong)
    noted = words_of(note)
    if _FOREIGN_WORDS.intersection(noted):
        return Title(Role.FOREIGN)
    words = words_of(whole)
    title = _role(_without_number(words))
    if title.role in (Role.OTHER, Role.REMARKS) and _is_urgent(noted, _URGENT - {"must", "required"}):
        return Title(Role.FINDINGS, tier=_urgent_tier(noted))
    if title.role is not Role.OTHER or len(text) > _LONGEST_TITLE:
        return title
    label, value = split_label(clean)
    if not label:
        return _with_urgency(title, words)
    labelled = words_of(label)
    named = _role(_without_number(labelled))
    if named.role is Role.OTHER and _NUMBERED.intersection(labelled):
        return read_title(value)
    if named.role in (Role.OTHER, Role.REMARKS) and status_label(labelled) and names_a_decision(value):
        return Title(Role.VERDICT, value)
    found = _with_urgency(Title(named.role, value, named.tier, named.category, named.is_strong), labelled)
    return found if found.role is not Role.OTHER else _with_urgency(found, words)


def split_label(text: str) -> tuple[str, str]:
    """Split a bare `Label: value` or `Label - value` at its first separator, within the first 80 characters."""
    if not _SEPARATORS.search(text, 0, 80):
        return "", text
    found = [
        (place, len(mark))
        for mark in (":", " - ", " \u2013 ", " \u2014 ", "\u2014", "\u2013", " = ", " \u2192 ", " | ", "\uff1a")
        if (place := text[:80].find(mark)) > 0
    ]
    if not found:
        return "", text
    place, width = min(found)
    return text[:place].strip(), text[place + width :].strip()


def category_of(words: list[str]) -> Category | None:
    """Return the category that a heading names, when it names nothing else."""
    named = [_CATEGORIES[word] for word in words if word in _CATEGORIES]
    return named[0] if named and all(word in _CATEGORIES or word in _FILL | _THINGS for word in words) else None


def tier_of(words: list[str]) -> Tier | None:
    """Return the tier that a heading or a tag names."""
    if "tier" in words[:-1] and (tier := _TIERS.get(words[words.index("tier") + 1])):
        return tier
    names = set(words)
    if {"non", "blocking"} <= names or "nonblocking" in names:
        return Tier.SUGGESTION if names <= _SOFT_WORDS else None
    is_must = words[:2] == ["must", "fix"] or ("required" in names and names & word_set("changes fixes actions"))
    for tier, heads, allowed in (
        (Tier.BLOCKING, _BLOCKING_HEADS, _BLOCKING_WORDS),
        (Tier.HIGH, _HIGH_HEADS, _HIGH_WORDS),
        (Tier.SUGGESTION, _SOFT_HEADS, _SOFT_WORDS),
    ):
        if names <= allowed and (names & heads or (tier is Tier.BLOCKING and is_must)):
            return tier
    return None


def verdict_label(words: list[str]) -> str:
    """Return the noun that makes words the name of the verdict: verdict, decision, a weaker one, or nothing."""
    words = [word for word in words if not word.isdigit()]
    if not words or len(words) > 7 or not _VERDICT_WORDS.issuperset(words):
        return ""
    heads = [word for word in words if word in _VERDICT_HEADS] or [word for word in words if word in _WEAK_HEADS]
    if "verdict" in heads:
        return "verdict"
    if heads and heads[0] in _VERDICT_HEADS:
        return "decision"
    return heads[0] if heads else ""


def status_label(words: list[str]) -> str:
    """Return the noun that makes words a label beside which a decision may stand, such as `Review Status`."""
    named = [word for word in words if word in _STATUS_HEADS]
    return named[0] if named and len(words) <= 5 and _STATUS_WORDS.issuperset(words) else ""


def _role(words: list[str]) -> Title:
    names = set(words)
    if not words or len(words) > 12:
        return Title(Role.OTHER)
    noun = verdict_label(words)
    if noun and not (noun == "approval" and "conditions" in names):
        return Title(Role.VERDICT, is_strong=noun == "verdict")
    if tier := tier_of(words):
        return Title(Role.FINDINGS, tier=tier)
    if names & _FOREIGN_WORDS or {"review", "log"} <= names:
        return Title(Role.FOREIGN)
    if names & {"question", "questions"}:
        is_resolved = bool(names & word_set("resolved resolution resolutions answered")) and "unresolved" not in names
        is_resolved = is_resolved or names <= {"open", "questions"}
        return Title(Role.RESOLVED if is_resolved else Role.QUESTIONS)
    if names & {"coverage", "traceability"} and names <= _COVERAGE_WORDS:
        return Title(Role.COVERAGE)
    if names & {"preflight", "flight"} or words == ["gate"]:
        return Title(Role.GATE)
    if names & {"summary", "overview"} and names <= _SUMMARY_WORDS:
        return Title(Role.SUMMARY)
    if names <= _REMARK_WORDS:
        return Title(Role.REMARKS, category=category_of(words))
    return Title(Role.OTHER, category=category_of(words))


def is_foreign(words: list[str]) -> bool:
    """Tell whether words name another review than this one."""
    return bool(_FOREIGN_WORDS.intersection(words))


def _with_urgency(title: Title, words: list[str]) -> Title:
    if title.role in (Role.OTHER, Role.REMARKS) and len(words) <= 8 and _is_urgent(words, _URGENT):
        return Title(Role.FINDINGS, title.value, _urgent_tier(words), title.category)
    return title


def _is_urgent(words: list[str], urgent: frozenset[str]) -> bool:
    return bool(urgent.intersection(words)) and not _SETTLED.intersection(words)


def _urgent_tier(words: list[str]) -> Tier:
    """Return how much the findings weigh that a heading calls urgent, or gives a severity."""
    if (_URGENT - {"severity"}).intersection(words):
        return Tier.BLOCKING
    if _SOFT_HEADS.intersection(words):
        return Tier.SUGGESTION
    return Tier.HIGH if _HIGH_HEADS.intersection(words) else Tier.BLOCKING


def _without_number(words: list[str]) -> list[str]:
    if words and words[0] in _NUMBERED and len(words) > 1 and (words[1].isdigit() or len(words[1]) == 1):
        words = words[2:]
    start = 0
    while start < len(words) - 1 and (words[start].isdigit() or words[start] in _ROMAN):
        start += 1
    return words[start:]
