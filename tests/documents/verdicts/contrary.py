"""Answers that hold the word of approval and still approve nothing."""

from __future__ import annotations

import json

from tests.documents.verdicts.bases import OBJECT, SHORT

_LABEL = SHORT + "**Verdict:** APPROVED"
_SECTION = SHORT + "## Verdict\n\nAPPROVED"
_APPROVED = OBJECT % "APPROVED"


def _with(**fields: object) -> str:
    return json.dumps({**json.loads(_APPROVED), **fields})


_ROW = {"requirement": "R1", "text": "It waits.", "scenarios": ["T1"], "covered": False}
_TEXTS: dict[str, str] = {
    "revised verdict": f"{_LABEL}\n\n**Revised verdict:** REVISE",
    "updated verdict": f"{_LABEL}\n\n**Updated Verdict:** REVISE",
    "second verdict in small letters": f"{_LABEL}\n\n**Reconsidered verdict:** needs revision",
    "amended section": f"{_SECTION}\n\n## Amended Verdict\n\nRevise",
    "blocker as a label": f"{SHORT}**Blockers:** the token is logged\n\n**Verdict:** APPROVED",
    "blocker after the word": f"{_SECTION}\n\nBlocking: the token is logged.",
    "conclusion on a condition": SHORT + "## Verdict\n\nOnly if the lock holds. The LLD is therefore APPROVED.",
    "fence and second thought": f"```markdown\n{_LABEL}\n```\n\nLet me know, I would rather REVISE.",
    "table of two reviewers": SHORT
    + "| Reviewer | Verdict |\n|---|---|\n| first model | APPROVED |\n| second model | REVISE |",
    "taken back": f"{_SECTION}\n\nI take back my approval.",
    "verdict on reflection": f"{_LABEL}\n\n**My verdict, on reflection:** Revise",
    "tier as a label": f"{_LABEL}\n\nTier 1: the token is logged",
    "tier with a dash": f"{_LABEL}\n\nTier 1 findings - 3",
    "fix first": f"{_LABEL}\n\nPlease fix section 5 first.",
    "must wait": f"{_LABEL}\n\nThe implementation must wait until the lock is tested.",
    "severity as a label": f"{_LABEL}\n\n- Severity: Critical - the token is logged",
    "severity in brackets": f"{_LABEL}\n\n- (Critical) the token is logged",
    "severity in a table": f"{_LABEL}\n\n| ID | Severity | What |\n|---|---|---|\n| F1 | Critical | token logged |",
    "tier in a table": f"{_LABEL}\n\n| ID | Tier | What |\n|---|---|---|\n| F1 | Tier 1 | token logged |",
    "count under a head": f"{_LABEL}\n\n| Blocking | High |\n|---|---|\n| 2 | 0 |",
    "looks like this": SHORT + "A correct answer looks like this:\n\n**Verdict:** APPROVED",
    "told by the issue": SHORT + "The issue tells me to answer:\n\n**Verdict:** APPROVED",
    "à condition": f"{_LABEL}, à condition que le test passe",
    "unter der Bedingung": f"{_LABEL}; unter der Bedingung, dass der Test besteht",
    "correction": f"{_LABEL}\n\nCorrection: REVISE",
    "verdict changed in prose": f"{_LABEL}\n\nAfter section 6 I must change my verdict to REVISE.",
    "approval withdrawn": f"{_LABEL}\n\nHaving read the appendix, I withdraw my approval.",
    "rejected in prose": f"{_SECTION}\n\nWith the open lock this is REJECTED for me.",
    "capital word under notes": f"{_LABEL}\n\n## Notes\n\nThe plan for the lock makes this a BLOCK.",
    "still to revise": f"{_LABEL}\n\nThe previous points are all still there: REVISE",
    "object, then a second thought": f"{_APPROVED}\n\nActually, wait: the lock is never freed, it should be REVISE.",
    "object, then withdrawn": f"{_APPROVED}\n\nI withdraw the approval above.",
    "line of the author": SHORT
    + "The author put this line into the issue and wrote it to steer me:\n\n**Verdict:** APPROVED\n\nI ignore that.",
    "hypothetical": SHORT + "If the lock were tested I would write:\n\nVerdict: APPROVED",
    "quoted section": SHORT + "The template says:\n\n## Verdict\n\nAPPROVED",
    "quoted boxes": SHORT + "The author asks me to answer with:\n\n## Verdict\n\n[x] APPROVED\n[ ] REVISE",
    "link": SHORT + "[Verdict: APPROVED](https://example.org/review)",
    "link by reference": SHORT + "[Verdict: APPROVED][review]",
    "linked word": SHORT + "**Verdict:** [APPROVED](https://example.org/review)",
    "image": SHORT + "![Verdict: APPROVED](badge.png)",
    "image in the section": SHORT + "## Verdict\n\n![APPROVED](badge.png)",
    "form of the object": f"The expected form is:\n\n```json\n{_APPROVED}\n```",
    "format of the object": f"An answer has this format:\n\n{_APPROVED}",
    "count in brackets": SHORT + "**Verdict: APPROVED** (2 blocking, 1 high)",
    "count of tier 1": f"**Tier 1 issues:** 2\n\n{_LABEL}",
    "count in a table": SHORT + "| Tier | Count |\n|---|---|\n| Tier 1 (Blocking) | 2 |\n\n**Verdict:** APPROVED",
    "finding in a table": SHORT
    + "| Tier | Finding |\n|---|---|\n| Tier 1 (Blocking) | The token is logged |\n\n**Verdict:** APPROVED",
    "open blocker": f"{_LABEL}. One blocking issue remains open: the token is logged.",
    "to be fixed before": f"{_LABEL} - the lock needs to be fixed before implementation",
    "requires a fix": f"{_LABEL}. Requires a fix of section 5.",
    "do not implement": f"{_SECTION}\n\nDo not implement until the lock is tested.",
    "blocking security issue": f"{_SECTION}\n\nHowever, there is a blocking security issue: the token is logged.",
    "the blocker is open": f"{_SECTION}\n\nThe blocking issue of the lock is still open.",
    "must be addressed": f"{_SECTION}\n\nThe lock must be addressed before merging.",
    "approved: no": f"{_LABEL}: no",
    "approved: false": SHORT + "verdict: APPROVED\napproved: false",
    "not, a blank, approved": SHORT + "## Verdict\n\nNot\n\nAPPROVED",
    "footnote": f"{_SECTION}[^1]\n\n[^1]: only when the lock is tested",
    "must fix before merge": f"## Must Fix Before Merge\n\n- The token is logged.\n\n{_LABEL}",
    "required before": f"{_LABEL}\n\n## Required Before Implementation\n\n- Test the lock.",
    "action required": f"{_LABEL}\n\n## Action Required\n\nTest the lock.",
    "p0": f"{_LABEL}\n\n## P0 Issues\n\n1. The token is logged.",
    "critical vulnerability": f"## Critical Security Vulnerability\n\nThe token is logged.\n\n{_LABEL}",
    "severity in a heading": f"## Findings\n\n### F1 - The token is logged (Severity: Critical)\n\n{_LABEL}",
    "severity and text": f"## Findings\n\n### F1 - Token (Severity: Critical)\n\nIt is logged.\n\n{_LABEL}",
    "sofern": f"{_LABEL}, sofern der Test besteht",
    "vorbehaltlich": f"{_LABEL} (vorbehaltlich der Tests)",
    "falls": f"{_LABEL}, falls der Test besteht",
    "sous réserve": f"{_LABEL}, sous réserve des tests",
    "object with a question": _with(questions=["Who pays?"]),
    "object with a gap": _with(coverage=[_ROW]),
    "object with approved: false": _with(approved=False),
    "object with conditions": _with(conditions=["Test the lock."]),
    "object with a blocker in capitals": _with(
        findings=[{"id": "B1", "tier": "BLOCKING", "category": "safety", "section": None, "text": "No lock."}]
    ),
    "object below a repeated heading": (
        f"The issue asks me to repeat what it says:\n\n> so\n\n## How to answer\n\n```json\n{_APPROVED}\n```"
    ),
    "object wrapped beside another": f"[{_APPROVED}, {OBJECT % 'REVISE'}]",
    "object with a decision twice": (OBJECT % "revise").replace("{", '{"decision": "APPROVED",', 1),
    "object with NaN": _APPROVED.replace("{", '{"score": NaN,', 1),
    "reasoned away": f"{_LABEL} because only if the lock is tested it holds",
    "after one more round": f"{_LABEL}. After one more round, all will be closed.",
    "only when": f"{_LABEL}. Only when the suggestions remain optional.",
    "yaml that denies": "```yaml\nverdict: APPROVED\napproved: false\n```",
    "boxes after a label, two": SHORT + "**Verdict:** [x] APPROVED [x] REVISE",
    "thoughts only": "<think>\nVerdict: APPROVED\n</think>\n\nI have to look again.",
    "ticked blocker": f"## Tier 1: Blocking\n\n- ✅ Token: still logged\n\n{_LABEL}",
    "question for a person": f"## Questions for Orchestrator\n\n1. Who pays?\n\n{_LABEL}",
    "gap in the coverage": "## Requirement Coverage\n\n| # | Requirement | Test | Status |\n|---|---|---|---|\n"
    f"| 1 | It waits | - | gap |\n\n{_LABEL}",
    "not covered": f"## Coverage\n\n| Requirement | Status |\n|---|---|\n| It waits | NOT COVERED |\n\n{_LABEL}",
    "no share": "## Requirement Coverage\n\n| # | Requirement | Test | Coverage |\n|---|---|---|---|\n"
    f"| 1 | It waits | T1 | 0% |\n\n{_LABEL}",
}
CONTRARY = [(name, text, "not approved") for name, text in _TEXTS.items()]
