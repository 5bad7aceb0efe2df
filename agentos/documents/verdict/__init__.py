"""Read, write and show the verdict of a reviewer.

Begin with `reading.py`, which accepts an object of `schema.py` or the Markdown of
`form.py`; `rendering.py` writes that Markdown.
"""

from __future__ import annotations

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.verdict.model import (
    MAX_ENTRIES,
    MAX_TEXT,
    CoverageRow,
    Decision,
    EarlierFinding,
    EarlierState,
    KeptScenario,
    ResolvedQuestion,
    SourceError,
    Verdict,
    VerdictError,
)
from agentos.documents.verdict.objects import find_object, looks_of_reviewer
from agentos.documents.verdict.reading import read_verdict
from agentos.documents.verdict.rendering import render_verdict
from agentos.documents.verdict.schema import (
    LOOK_OR_PLAN_VERDICT_SCHEMA,
    LOOK_OR_VERDICT_SCHEMA,
    PLAN_VERDICT_SCHEMA,
    VERDICT_SCHEMA,
    parse_verdict,
    verdict_json,
)

__all__ = [
    "LOOK_OR_PLAN_VERDICT_SCHEMA",
    "LOOK_OR_VERDICT_SCHEMA",
    "MAX_ENTRIES",
    "MAX_TEXT",
    "PLAN_VERDICT_SCHEMA",
    "VERDICT_SCHEMA",
    "Category",
    "CoverageRow",
    "Decision",
    "EarlierFinding",
    "EarlierState",
    "Finding",
    "KeptScenario",
    "ResolvedQuestion",
    "SourceError",
    "Tier",
    "Verdict",
    "VerdictError",
    "blocks_approval",
    "find_object",
    "looks_of_reviewer",
    "parse_verdict",
    "read_verdict",
    "render_verdict",
    "verdict_json",
]
