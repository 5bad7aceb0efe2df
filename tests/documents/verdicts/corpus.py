"""Verdict texts with what they must be read as: a decision, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.documents.verdicts.bases import (
    APPROVALS,
    APPROVED,
    COVERED_APPROVED,
    FENCED,
    OBJECT,
    OPENING,
    REVISE,
    TIERS,
    boxes,
)
from tests.documents.verdicts.contrary import contrary
from tests.documents.verdicts.prose import PROSE

REFUSED = "refused"
NOT_APPROVED = "not approved"
Case = tuple[str, str, str]
_APPROVED = OBJECT % "APPROVED"
_REVISE = OBJECT % "REVISE"

HARMLESS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: f"\ufeff{text}",
    "blanks around": lambda text: f"\n\n{text}   \n\n\n",
    "thoughts before": lambda text: f"<think>\nREVISE? {{\n</think>\n\n{text}",
    "lone surrogate": lambda text: text.replace("file", "file \ud800"),
}


def _object(**fields: object) -> str:
    return json.dumps({"summary": "It is small.", **fields})


OBJECTS: dict[str, tuple[str, str]] = {
    "small letters": (OBJECT % "approved", "APPROVED"),
    "approve": (OBJECT % "APPROVE", "APPROVED"),
    "plain fence": (FENCED.replace("json", ""), "APPROVED"),
    "jsonc fence": (FENCED.replace("json", "jsonc"), "APPROVED"),
    "tilde fence": (FENCED.replace("```", "~~~"), "APPROVED"),
    "introduction": (f"Here is my verdict:\n\n{_APPROVED}", "APPROVED"),
    "introduction, fence and closing": (
        f"My review:\n```json\n{_APPROVED}\n```\nThat is all.",
        "APPROVED",
    ),
    "closing": (f"{_APPROVED}\n\nLet me know if you need anything else.", "APPROVED"),
    "unknown number": (_APPROVED.replace("{", '{"confidence": 0.9,', 1), "APPROVED"),
    "approved: true": (_APPROVED.replace("{", '{"approved": true,', 1), "APPROVED"),
    "missing lists": (_object(decision="APPROVED"), "APPROVED"),
    "verdict": (_object(verdict="APPROVED", blocking_issues=[]), "APPROVED"),
    "verdict and decision": (
        _object(verdict="APPROVED", decision="approved"),
        "APPROVED",
    ),
    "suggestions": (_object(verdict="APPROVED", suggestions=["Rename."]), "APPROVED"),
    "trailing comma": (_APPROVED.replace("[]\n", "[],\n"), "APPROVED"),
    "comments": (_APPROVED.replace('"findings"', '// none\n "findings"'), "APPROVED"),
    "line end in a string": (_APPROVED.replace("every", "\nevery"), "APPROVED"),
    "wrapped in a field": (f'{{"verdict": {_APPROVED}}}', "APPROVED"),
    "wrapped in a list": (f"[{_APPROVED}]", "APPROVED"),
    "wrapped in a fence": (f'```json\n{{"review": {_APPROVED}}}\n```', "APPROVED"),
    "revise": (_REVISE, "REVISE"),
    "block": (_object(verdict="BLOCK", blocking_issues=["No lock."]), "REVISE"),
    "request changes": (_object(verdict="request changes"), "REVISE"),
    "discuss": (_object(verdict="DISCUSS", questions=["Who pays?"]), "DISCUSS"),
    "revise within prose": (
        f"I looked at it.\n\n> APPROVED\n\n```json\n{_REVISE}\n```\nSo REVISE.",
        "REVISE",
    ),
    "revise beside other JSON": (
        f'```json\n{{"retries": 3}}\n```\n\n{_REVISE}',
        "REVISE",
    ),
    "two objects": (f"{_REVISE}\n{_REVISE}", REFUSED),
    "unknown decision": (_object(verdict="LATER"), REFUSED),
    "no object": ("[]", REFUSED),
    "null": ("null", REFUSED),
    "cut": (_APPROVED[:-9], REFUSED),
    "cut in a fence": (f"```json\n{_APPROVED[:-9]}", REFUSED),
    "cut below a review": (f"{APPROVED}\n\n{_APPROVED[:-9]}", REFUSED),
}
FORMS: dict[str, tuple[str, str]] = {
    "approved": (APPROVED, "APPROVED"),
    "approved with coverage": (COVERED_APPROVED, "APPROVED"),
    "in a fence": (f"```markdown\n{APPROVED}\n```\n", "APPROVED"),
    "listed boxes": (APPROVED.replace("\n[", "\n- ["), "APPROVED"),
    "bold gate": (APPROVED.replace("PASSED", "**PASSED**"), "APPROVED"),
    "revise": (REVISE, "REVISE"),
    "revise with a comment": (
        REVISE.replace("Fix Tier 1/2 issues first", "the lock, please"),
        "REVISE",
    ),
    "revise subject to fixes": (
        REVISE.replace("for implementation.", "subject to Tier 2 fixes."),
        "REVISE",
    ),
    "discuss": (OPENING + TIERS + boxes("d"), "DISCUSS"),
    "revise within prose": (f"My review:\n\n{REVISE}", REFUSED),
    "no verdict": (OPENING + TIERS, REFUSED),
    "no tiers": (OPENING + boxes("a"), REFUSED),
    "no boxes": (OPENING + TIERS + "\n## Verdict\n", REFUSED),
    "empty": ("", REFUSED),
    "blanks": (" \n\t\n\u00a0", REFUSED),
}


def _cases() -> Iterator[Case]:
    for name, (text, expected) in OBJECTS.items():
        yield f"object: {name}", text, expected
    for name, (text, expected) in FORMS.items():
        yield f"form: {name}", text, expected
    for name, text in PROSE.items():
        yield f"prose: {name}", text, REFUSED
    for name, approval in APPROVALS.items():
        for change, apply in HARMLESS.items():
            yield f"{name}, {change}", apply(approval), "APPROVED"
    for name, text in contrary():
        yield f"contrary: {name}", text, NOT_APPROVED


CASES: list[Case] = list(_cases())
