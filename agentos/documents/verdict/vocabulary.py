"""The words that the grammar of decisions knows."""

from __future__ import annotations

from agentos.documents.verdict.model import Decision


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list as a set."""
    return frozenset(words.split())


def _phrases(text: str, decision: Decision) -> dict[tuple[str, ...], Decision | None]:
    return {tuple(phrase.split()): decision for phrase in text.split("|")}


PHRASES: dict[tuple[str, ...], Decision | None] = {
    **_phrases("approved|approve|approval granted|i approve|we approve", Decision.APPROVED),
    **_phrases(
        "revise|revision|revisions|needs revision|needs revisions|need revision|revision required|revision needed"
        "|revision requested|revisions required|revisions needed|revisions requested|requires revision"
        "|requires revisions|revise and resubmit|major revision|major revisions|minor revision|minor revisions"
        "|block|blocked|reject|rejected|rejection|request changes|requests changes|requesting changes"
        "|request for changes|changes requested|changes required|changes needed|needs changes|needs work"
        "|requires changes|not approved|not yet approved|not ready|do not approve|cannot be approved|cannot approve"
        "|can not be approved|can't be approved|can\u2019t be approved|disapproved|unapproved|denied|declined|fail"
        "|failed|no go|return for revision|returned for revision|needs rework|rework",
        Decision.REVISE,
    ),
    **_phrases(
        "discuss|discussion|needs discussion|discussion needed|discussion required|requires discussion"
        "|needs orchestrator decision|needs human decision|needs a decision|escalate|escalated",
        Decision.DISCUSS,
    ),
    ("conditionally", "approved"): None,
    ("conditional", "approval"): None,
    ("partially", "approved"): None,
    ("provisionally", "approved"): None,
    ("approved", "conditionally"): None,
    ("tentatively", "approved"): None,
}
FIRST_WORDS = frozenset(phrase[0] for phrase in PHRASES)
LONGEST_PHRASE = max(map(len, PHRASES))

LEAD = word_set(
    "this the lld design document issue spec specification is has been hereby i we my our final overall therefore"
    " accordingly verdict decision status so plan proposal"
)
YES = frozenset("✅✔☑🟢👍🎉✓🚀🎯⭐🏁💚✨👏")
HARD = word_set(
    "conditions condition changes change reservations caveats modifications fixes revisions exceptions exception"
)
WARNINGS = frozenset("🔴🟡🟠⚠🛑👎")
SOFT = word_set(
    "suggestion suggestions comment comments note notes recommendation recommendations observation observations"
    " remark remarks feedback nit nits confidence findings items"
)
SOFT_ADJECTIVES = word_set(
    "minor optional non blocking small some a few tier 2 3 two three high priority only the following additional"
    " noted below and or any my these advisory low cosmetic editorial several tier2 tier3 one"
)
AFTER: dict[str, frozenset[str]] = {
    "for": word_set(
        "implementation development coding merge merging release filing building build the next stage phase step"
    ),
    "as": word_set("is written submitted proposed drafted designed it stands"),
    "to": word_set("proceed with implementation implement merge start begin to"),
    "and": word_set("ready for implementation to implement the next stage phase step"),
    "ready": word_set("for implementation to implement the next stage phase step development"),
    "without": word_set(
        "any further changes change conditions condition reservations reservation modifications comments"
    ),
    "this": word_set("lld design document issue spec specification draft version proposal plan"),
    "the": word_set("lld design document issue spec specification draft version proposal plan"),
}
WITH_NO = word_set("changes conditions reservations issues concerns findings comments further required blocking or")
SINGLE = frozenset({"unconditionally", "now", "again"})
CONDITIONS = word_set(
    "pending subject conditional conditionally contingent provided providing unless once if after until when assuming"
    " only but however though although except excepting not never fix revise rework redo reject must minus modulo"
    " barring block blocked rejected cannot sofern vorbehaltlich falls wenn nur sobald nachdem aber bis"
    " sous sauf si mais salvo siempre pero"
)
ORDERS = word_set("address resolve add change correct update fix close answer")
OPTIONAL = word_set("consider see note suggest optionally maybe")
CAPITALS = frozenset({"REVISE", "DISCUSS", "BLOCK", "BLOCKED", "REJECT", "REJECTED", "NOT"})
BREAKS = frozenset("-\u2013\u2014,;.:!?()[]\u2026")
CHOICES = frozenset('/|\u2192\\>?~`"')
