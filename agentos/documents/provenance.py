"""Reviewers and statuses of documents that no model wrote or reviewed."""

from __future__ import annotations

import re

RULES = "offline rules (no model was asked)"
"""The offline provider filled or checked the template by rules."""
RECORDED = "recorded answer (no model was asked)"
SCRIPTED = "scripted review (no model was asked)"
"""A simulation asked for another round or for a person."""
SIMULATED = "simulated review (no model was asked)"
"""A simulation accepted the draft."""

APPROVED_STATUS = "APPROVED"
RECORDED_STATUS = "APPROVED (recorded)"
SKELETON_STATUS = "SKELETON"
SIMULATED_STATUS = "SIMULATED"

_REVIEWER = "**Reviewer:** "
_FINAL_STATUS = "**Final Status:** "
_OWN_STATUS = re.compile(
    r"^[*-] \*\*Status:?\*\*:?[ \t]*APPROVED[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_HEAD = 10_000
"""Characters at the beginning of a design in which its status stands."""
_UNMARKED = re.compile(r"\bAPPROVED\b(?! \(recorded\))")


def is_by_rules(status: str, reviewer: str) -> bool:
    """Tell whether a document is a skeleton.

    Older versions wrote APPROVED into documents that only rules had reviewed.
    """
    if status.upper() == SKELETON_STATUS:
        return True
    return status.upper() == APPROVED_STATUS and reviewer == RULES


def mark_recorded(text: str) -> str:
    """Return a text in which every APPROVED says that it comes from a recorded answer."""
    return _UNMARKED.sub(RECORDED_STATUS, text)


def final_status(text: str) -> str:
    """Return the status at the end of a review log, or an empty string."""
    if _FINAL_STATUS not in text:
        return ""
    status = _last_value(text, _FINAL_STATUS)
    reviewer = _last_value(text, _REVIEWER)
    if is_by_rules(status, reviewer):
        return SKELETON_STATUS
    return status


def states_approval(text: str) -> bool:
    """Tell whether a design says of itself that it is approved, whoever wrote it."""
    if final_status(text):
        return final_status(text) == APPROVED_STATUS
    return _OWN_STATUS.search(text, 0, _HEAD) is not None


def _last_value(text: str, label: str) -> str:
    _, _, rest = text.rpartition(label)
    value, _, _ = rest.partition("\n")
    return value.strip()
