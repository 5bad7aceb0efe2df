"""The parsers that the fuzzer knows: add one line to the table for one more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentos.documents.changes import parse_changes, render_changes
from agentos.documents.verdict import VerdictError, read_verdict
from tests.documents.verdicts.bases import APPROVED, OBJECT, REVISE
from tests.documents.verdicts.prose import PROSE
from tests.fuzz import lld_targets

_MARKS = (
    "\n|\r\n|# |## |- |* |1. |> |    |[x] |[ ] |☑ |✅ |**|__|~~|`|```|```json\n|~~~\n|<!--|-->|<del>|</del>|<details>"
    '|\\|&#38;|{|}|[|]|"|:|, |---\n|===\n|\x00|\ud800|\ufeff|\u00a0|\u2028'
)
MARKS = (*_MARKS.split("|"), "|", "|---|---|\n")
_PARTS = (
    *(
        "# 42 - Export\n",
        "## 1. Context & Goal\n",
        "* **Status:** Draft\n",
        "### Open Questions\n",
        "## 2. Proposed Changes\n",
    ),
    *(
        "### 2.1 Files Changed\n",
        "| File | Change Type | Description |\n|---|---|---|\n",
        "| `a/b.py` | Add | x |\n",
    ),
    *(
        "### 2.7 Architecture Decisions\n",
        "## 3. Requirements\n",
        "1. R1: it works\n",
        "### 10.1 Test Scenarios\n",
    ),
    *(
        "| ID | Requirement | Scenario |\n|---|---|---|\n",
        "| 010 | R1 | x |\n",
        "## 12. Definition of Done\n",
    ),
    *(
        "## Appendix: Review Log\n",
        "### Review #1 (REVISE)\n",
        "**Final Status:** APPROVED\n",
        "Here is the design:\n",
    ),
    *(
        "## Acceptance Criteria\n",
        "## Answer, today\n",
        "Depends on: #7, #9 and audit-trail\n",
        "Blocked by: None\n",
    ),
)
_CHANGES = (
    *(
        "```python\n",
        "````\n",
        "# File: a.py\n",
        "// File: b.md\n",
        "### File: `c.md`\n",
        "**File:** `d.py`\n",
    ),
    *(
        "# Edit: a.py\n",
        "# Delete: e.py\n",
        "Reason: needed\n",
        "# Reason: needed\n",
        "path=f.txt",
        " whole",
    ),
    *(
        "<<<<<<< SEARCH\n",
        "=======\n",
        ">>>>>>> REPLACE\n",
        "<<<<<<<< SEARCH\n",
        "x = 1\n",
        "blocked: no\n",
        "contest: test_a: no\n",
        "kept: 030: so\n",
        "@@ -1 +1 @@\n",
        "<<<<<< SEARCH\n",
        "<think>\n",
        "</think>\n",
    ),
)


def _read_changes(text: str) -> None:
    """Read an implementer's answer; what is rendered reads back equal."""
    parse_changes(text, ("a.py",))
    changes = parse_changes(text).changes
    assert parse_changes(render_changes(changes)).changes == changes


@dataclass(frozen=True, slots=True)
class Target:
    """A parser, the only error it may raise if any, and pieces of text that lead deep
    into it.
    """

    read: Callable[[str], object]
    error: type[Exception] | tuple[()]
    pieces: tuple[str, ...] = MARKS


TARGETS: Mapping[str, Target] = {
    **{
        name: Target(read, (), (*MARKS, *_PARTS))
        for name, read in lld_targets.TARGETS.items()
    },
    "changes": Target(_read_changes, (), (*MARKS, *_CHANGES)),
    "verdict": Target(
        read_verdict,
        VerdictError,
        (
            *MARKS,
            *PROSE.values(),
            *APPROVED.split("\n\n"),
            *REVISE.split("\n\n"),
            OBJECT % "APPROVED",
            OBJECT % "REVISE",
            "Verdict",
            "APPROVED",
            "REVISE",
            "pending",
            "## Tier 1: Blocking\n",
            "**Resolved:**",
            '"verdict": "APPROVED",',
        ),
    ),
}
