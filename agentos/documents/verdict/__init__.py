"""A reviewer's verdict: its schema, its reading from whatever a reviewer answers, and its Markdown."""

from __future__ import annotations

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.verdict.model import (
    MAX_ENTRIES,
    MAX_TEXT,
    CoverageRow,
    Decision,
    ResolvedQuestion,
    Verdict,
    VerdictError,
)
from agentos.documents.verdict.reading import read_verdict
from agentos.documents.verdict.rendering import render_verdict, settle
from agentos.documents.verdict.schema import VERDICT_SCHEMA
from agentos.documents.verdict.structured import parse_verdict, verdict_json

__all__ = [
    "MAX_ENTRIES",
    "MAX_TEXT",
    "VERDICT_SCHEMA",
    "Category",
    "CoverageRow",
    "Decision",
    "Finding",
    "ResolvedQuestion",
    "Tier",
    "Verdict",
    "VerdictError",
    "blocks_approval",
    "parse_verdict",
    "read_verdict",
    "render_verdict",
    "settle",
    "verdict_json",
]
