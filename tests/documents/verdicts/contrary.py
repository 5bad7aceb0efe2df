"""Answers that hold an approval and still approve nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.documents.verdicts.bases import APPROVALS, APPROVED, OBJECT, boxes

_APPROVED = OBJECT % "APPROVED"
_REVISE = OBJECT % "REVISE"

TAILS = (
    "\n\n**Verdict:** REVISE",
    "\n\n**Revised verdict:** REVISE",
    "\n\n## Amended Verdict\n\nRevise",
    "\n\n## Verdict and Rationale\n\nAPPROVED pending the fix of the lock.",
    "\n\n### Blocking Issues\n- The token is written to the log.",
    "\n\n## Required Before Implementation\n\n- Test the lock.",
    "\n\n[x] **REVISE**",
    "\n\nBlocking: the token is logged.",
    "\n\nTier 1 findings - 3",
    "\n\n- Severity: Critical - the token is logged",
    "\n\n| ID | Severity | What |\n|---|---|---|\n| F1 | Critical | token logged |",
    "\n\nI take back my approval.",
    "\n\nI withdraw the approval above.",
    "\n\nPlease fix section 5 first.",
    "\n\nActually, wait: the lock is never freed.",
    "\n\nThe implementation must wait until the lock is tested.",
    "\n\nThe issue told me to answer so.",
    "\n\nThat is only an example of the form.",
    "\n\nLet me know if you need more, I would rather REVISE.",
    "\n\n[^1]: only when the lock is tested",
    "\n\n```\ncut he",
    f"\n\n{_REVISE}",
    f"\n\n```json\n{_APPROVED}\n```",
    boxes("r"),
    ", sofern der Test besteht",
    ", sous réserve des tests",
    " (2 blocking, 1 high)",
    " pending fixes",
    ": no",
    "?",
    " *",
)
HEADS = (
    "The draft contains this:\n\n",
    "The expected form is:\n\n",
    "An answer has this format:\n\n",
    "The author asks me to answer with:\n\n",
    "If the lock were tested I would write:\n\n",
    "I repeat what the issue says:\n\n> so\n\n",
    "**Verdict:** REVISE\n\n",
    "## Blocking\n- The token is logged.\n\n",
    "NOT ",
    "<!--\n",
    "<details>\n\n",
    "<think>\n",
    "```\n",
    "```python\n",
    "> ",
)
CHANGES: dict[str, Callable[[str], str]] = {
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "in a comment": lambda text: f"<!--\n{text}\n-->",
    "struck out": lambda text: f"<del>\n{text}\n</del>",
    "hidden": lambda text: f"<details>\n\n{text}\n\n</details>",
    "thoughts only": lambda text: f"<think>\n{text}\n</think>\n\nI look again.",
    "in a quoting fence": lambda text: (
        f"The draft holds this:\n\n````markdown\n{text}\n````\n\nIt proves nothing."
    ),
    "negated": lambda text: text.replace("APPROVED", "NOT APPROVED"),
    "conditional": lambda text: text.replace("APPROVED", "CONDITIONALLY APPROVED"),
    "asked": lambda text: text.replace("APPROVED", "APPROVED?"),
    "all options": lambda text: text.replace("APPROVED", "APPROVED / REVISE"),
    "struck word": lambda text: text.replace("APPROVED", "~~APPROVED~~"),
    "twice": lambda text: f"{text}\n\n{text}",
}
FORM_CHANGES = (
    # What stands in the form, and what takes its place.
    ("PASSED", "FAILED"),
    ("PASSED", "PASSED\nNothing else was looked at."),
    ("**Verdict:** PASS", "**Verdict:** BLOCK"),
    ("✓ Covered", "✗ Not covered"),
    ("✓ Covered", "partly"),
    ("✓ Covered |", "|"),
    ("1. None.", "1. Who pays?"),
    ("1. None.", "Who pays?"),
    ("for implementation.\n", "for implementation subject to Tier 2 fixes.\n"),
    ("No blocking issues found. LLD", "One blocking issue remains. LLD"),
    ("### Legal\n- [ ] No issues found.", "### Legal\n- [ ] The licence forbids it."),
    ("### Legal\n- [ ] No issues found.", "### Legal\n- [x] Checked: not allowed"),
    ("### Legal\n- [ ] No issues found.", "### Legal\nThe licence forbids it."),
    ("### Legal\n- [ ] No issues found.", "### Legal\n- [ ] No issues found, but one."),
    (
        "### Legal\n- [ ] No issues found.",
        "### Legal\n- [ ] No issues found.\n    - But the licence forbids it.",
    ),
    ("### Legal", "### B1: The token is logged"),
    ("## Tier 1: BLOCKING Issues", "## Tier 1: Solved Issues"),
    ("## Tier 2", "## Must Fix Before Merge\n\n- The token is logged.\n\n## Tier 2"),
    ("## Verdict", "## Previous Verdict"),
    ("## Verdict", "## Verdict (example)"),
    ("## Verdict\n", "## Verdict\nOnly when the lock is tested:\n"),
    ("## Verdict\n", "## Verdict\n- The draft claims:\n  "),
    ("[x] **APPROVED**", "[~] **APPROVED**"),
    ("[x] **APPROVED**", "> [x] **APPROVED**"),
    ("[x] **APPROVED**", "    [x] **APPROVED**"),
    ("[x] **APPROVED**", "`[x] **APPROVED**`"),
    ("[x] **APPROVED**", "[x] **APPROVED"),
    ("[x] **APPROVED** - Ready", "[x] **APPROVED** - Not ready"),
    ("[x] **APPROVED** - ", "[x] **APPROVED** with conditions - "),
    ("Ready for implementation", "Ready for implementation once the lock is tested"),
    ("[ ] **REVISE**", "[x] **REVISE**"),
    ("[ ] **DISCUSS**", "[X] **DISCUSS**"),
    ("[ ] **REVISE**", "[ ] **APPROVED**"),
    ("[ ] **DISCUSS**", "[ ] **LATER**"),
    ("is tested with a full disk.", "is as follows. The draft gives this review:"),
    ("is tested with a full disk.", "is open.\n\n**Verdict:** REVISE"),
    ("is tested with a full disk.", "is open.\n\n# Governance Verdict: BLOCK"),
    ("is tested with a full disk.", "<!-- hidden -->"),
)


def _with(**fields: object) -> str:
    return json.dumps({**json.loads(_APPROVED), **fields})


def _finding(**fields: object) -> dict[str, object]:
    return {"id": "B1", "category": "safety", "text": "No lock.", **fields}


_GAP = {"requirement": "R1", "text": "It waits.", "scenarios": ["T1"], "covered": False}
OBJECTS = {
    "a question": _with(questions=["Who pays?"]),
    "an open question": _with(open_questions=["Who pays?"]),
    "a gap": _with(coverage=[_GAP]),
    "approved: false": _with(approved=False),
    "ready: false": _with(ready=False),
    "blocked: true": _with(blocked=True),
    "a count of blockers": _with(blocking_count=2),
    "conditions": _with(conditions=["Test the lock."]),
    "a remark": _with(remark="Only when the lock is tested."),
    "a blocker": _with(findings=[_finding(tier="blocking", section="")]),
    "a blocker in capitals": _with(findings=[_finding(tier="BLOCKING", section=None)]),
    "a critical finding": _with(findings=[_finding(severity="Critical")]),
    "a finding of no known tier": _with(findings=[_finding(tier="fatal")]),
    "a finding without a tier": _with(findings=[_finding()]),
    "a finding with a condition": _with(findings=[_finding(tier="high", must=True)]),
    "blocking issues": _with(blocking_issues=["The token is logged."]),
    "blocking issues as objects": _with(blocking_issues=[_finding()]),
    "blocking issues as text": _with(blocking_issues="The token is logged."),
    "blockers": _with(blockers=[_finding()]),
    "tier 1": _with(**{"Tier 1": ["The token is logged."]}),
    "a finding with a field twice": _with(findings=[_finding(tier="high", Text="x")]),
    "issues": _with(issues=[_finding(severity="blocking")]),
    "a blocker called a suggestion": _with(blocking=[_finding(tier="suggestion")]),
    "another verdict": _with(verdict="REVISE"),
    "another decision in capitals": _with(Decision="REVISE"),
    "a decision twice": _REVISE.replace("{", '{"decision": "APPROVED",', 1),
    "a decision in a list": _with(decision=["APPROVED"]),
    "no summary": '{"verdict": "APPROVED"}',
    "an empty summary": _with(summary=" "),
    "NaN": _APPROVED.replace("{", '{"score": NaN,', 1),
    "a condition in the word": _with(decision="APPROVED_WITH_CONDITIONS"),
    "a neighbor in a list": f"[{_APPROVED}, {_REVISE}]",
    "a neighbor in an object": f'{{"verdict": {_APPROVED}, "second": {_REVISE}}}',
    "an unclosed fence": f"```json\n{_APPROVED}",
    "another fence": f"```python\n{_APPROVED}\n```",
    "text in the fence": f"```json\n{_APPROVED}\nbut not yet\n```",
}


def contrary() -> Iterator[tuple[str, str]]:
    """Yield a name and a text for each answer."""
    for name, approval in APPROVALS.items():
        for number, tail in enumerate(TAILS):
            yield f"{name}, tail {number}", approval + tail
        for number, head in enumerate(HEADS):
            yield f"{name}, head {number}", head + approval
        for change, apply in CHANGES.items():
            yield f"{name}, {change}", apply(approval)
    for number, (old, new) in enumerate(FORM_CHANGES):
        form = APPROVALS["form with coverage"]
        if old not in form:
            raise AssertionError(f"{old!r} is not in the form")
        yield f"form, change {number}", form.replace(old, new)
    for name, text in OBJECTS.items():
        yield f"object with {name}", text
    for letters in ("", "r", "d", "ar", "ad", "rd", "ard"):
        yield f"boxes {letters}", APPROVED.replace(boxes("a"), boxes(letters))
