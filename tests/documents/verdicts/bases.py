"""Reviews in our own words, in the two forms that are read."""

from __future__ import annotations

OPENING = """# LLD Review: 214 - Keep a ledger of retries

## Identity Confirmation
I am the reviewing model of this run.

## Pre-Flight Gate
PASSED

## Review Summary
The ledger is small and its file format is fixed. The retry path is tested with a full disk.
"""
TIERS = """
## Tier 1: BLOCKING Issues
No blocking issues found. LLD is approved for implementation.

### Cost
- [ ] No issues found.

### Safety
- [ ] No issues found.

### Security
- [ ] No issues found.

### Legal
- [ ] No issues found.

## Tier 2: HIGH PRIORITY Issues

### Architecture
- [ ] **Two writers:** Section 2.3 lets the collector and the worker append to the ledger.
    *   **Recommendation:** Give the ledger one owner and send it messages.

### Observability
- [ ] No issues found.

### Quality
- [ ] **Loose bound:** Section 10.1 checks "fast", which no test can fail.

## Tier 3: SUGGESTIONS
- **Naming:** `retry_book` would say more than `data`.
- Print the path of the ledger at the end.

## Questions for Orchestrator
1. None.
"""
COVERAGE = """
## Open Questions Resolved
- [x] ~~Is the ledger kept after a run?~~ **RESOLVED: Yes, for thirty days, then the next start removes it.**
- [x] ~~May two runs share it?~~ **RESOLVED: No. The second run waits for the lock.**

## Requirement Coverage Analysis (MANDATORY)

**Section 3 Requirements:**
| # | Requirement | Test(s) | Status |
|---|-------------|---------|--------|
| 1 | Every retry is written before it starts | T010, T020 | ✓ Covered |
| 2 | A torn line is skipped \\| reported | T030 | ✓ Covered |
| 3 | The ledger survives a full disk | - | ✗ Not covered |

*Note: row 2 also stands for the empty file.*

**Coverage Calculation:** 2 requirements covered / 3 total = **67%**

**Verdict:** PASS
"""
COVERED = COVERAGE.replace("- | ✗ Not covered", "T040 | ✓ Covered")
BOXES = """
## Verdict
[{a}] **APPROVED** - Ready for implementation
[{r}] **REVISE** - Fix Tier 1/2 issues first
[{d}] **DISCUSS** - Needs Orchestrator decision"""


def boxes(checked: str) -> str:
    """Return the verdict section with the named boxes checked: any of the letters a, r
    and d.
    """
    return BOXES.format(
        **{letter: "x" if letter in checked else " " for letter in "ard"}
    )


APPROVED = OPENING + TIERS + boxes("a")
COVERED_APPROVED = OPENING + COVERED + TIERS + boxes("a")
REVISE = OPENING + COVERAGE + TIERS + boxes("r")
OBJECT = """{
 "decision": "%s",
 "summary": "The design names every file that it writes.",
 "findings": [],
 "resolved_questions": [],
 "questions": [],
 "coverage": []
}"""
FENCED = f"```json\n{OBJECT % 'APPROVED'}\n```"
APPROVALS = {
    "form": APPROVED,
    "form with coverage": COVERED_APPROVED,
    "object": OBJECT % "APPROVED",
    "fenced object": FENCED,
}
"""Every shape of an approval that is read as one."""
