"""Tell what a heading of a review is about, by a closed vocabulary: an unknown word makes an unknown heading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from agentos.documents.findings import Category, Tier
from agentos.documents.verdict.marks import bare
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
_VERDICT_HEADS = word_set("verdict decision")
_WEAK_HEADS = word_set("recommendation outcome result conclusion approval")
_VERDICT_WORDS = (
    _FILL
    | _VERDICT_HEADS
    | _WEAK_HEADS
    | word_set(
        "final overall review reviewer reviewers governance lld design document issue spec specification"
        " technical formal official architect architects rationale justification recommendations status"
        " implementation readiness ai"
        " section reasoning explanation is"
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
_HEADS = re.compile("|".join(sorted(_VERDICT_HEADS | _WEAK_HEADS)), re.IGNORECASE)
_ROMAN = word_set("i ii iii iv v vi vii viii ix x")
_NUMBERED = word_set("section part step phase chapter")


def may_name_a_verdict(text: str) -> bool:
    """Tell quickly that the beginning of a text cannot hold the name of the verdict."""
    return _HEADS.search(text, 0, 120) is not None


def words_of(text: str) -> list[str]:
    """Return the lower-case words of a bare text."""
    return _WORD.findall(bare(text[:400]).casefold())


def read_title(text: str) -> Title:
    """Return what a heading, or a line that stands as one, is about."""
    clean = bare(text[:400])
    head, _, note = clean.partition("(")
    whole = head.strip() or clean
    if _FOREIGN_WORDS.intersection(words_of(note)):
        return Title(Role.FOREIGN)
    title = _role(_without_number(words_of(whole)))
    if title.role is not Role.OTHER or len(text) > 400:
        return title
    label, value = split_label(clean)
    if not label:
        return title
    named = _role(_without_number(words_of(label)))
    if named.role is Role.OTHER and set(words_of(label)) & _NUMBERED:
        return read_title(value)
    return Title(named.role, value, named.tier, named.category, named.is_strong)


def split_label(text: str) -> tuple[str, str]:
    """Split a bare `Label: value` or `Label - value` at its first separator, within the first 80 characters."""
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
    if not words or len(words) > 7 or not _VERDICT_WORDS.issuperset(words):
        return ""
    heads = [word for word in words if word in _VERDICT_HEADS] or [word for word in words if word in _WEAK_HEADS]
    if "verdict" in heads:
        return "verdict"
    return heads[0] if heads else ""


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


def _without_number(words: list[str]) -> list[str]:
    if words and words[0] in _NUMBERED and len(words) > 1 and (words[1].isdigit() or len(words[1]) == 1):
        words = words[2:]
    start = 0
    while start < len(words) - 1 and (words[start].isdigit() or words[start] in _ROMAN):
        start += 1
    return words[start:]
