"""A verdict as JSON: the form that is stored, and that a provider with schemas is asked for."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.strict_json import StrictJsonError, load_strict
from agentos.documents.verdict.model import CoverageRow, Decision, ResolvedQuestion, Verdict, VerdictError, check_sense
from agentos.documents.verdict.schema import check_schema


def parse_verdict(text: str) -> Verdict:
    """Read an answer that is exactly one verdict object, or raise `VerdictError`."""
    inside, line = _unfence(text)
    return parse_object(inside, line)


def parse_object(text: str, line: int = 1) -> Verdict:
    """Read the one verdict object that the text is; `line` is where the text begins in its answer."""
    try:
        value = load_strict(text)
    except StrictJsonError as error:
        cause = error.__context__
        offset = cause.lineno - 1 if isinstance(cause, json.JSONDecodeError) else 0
        raise VerdictError(str(error), line + offset) from None
    try:
        return build(value)
    except VerdictError as error:
        raise VerdictError(str(error), line) from None


def verdict_json(verdict: Verdict) -> str:
    """Write a verdict in the form that `parse_verdict` reads."""
    return json.dumps(asdict(verdict), indent=1, ensure_ascii=False)


def build(value: Any) -> Verdict:
    """Return the verdict that a value of the schema is."""
    check_schema(value)
    verdict = Verdict(
        Decision(value["decision"]),
        value["summary"],
        tuple(
            Finding(f["id"], Tier(f["tier"]), Category(f["category"]), f["section"], f["text"])
            for f in value["findings"]
        ),
        tuple(ResolvedQuestion(**question) for question in value["resolved_questions"]),
        tuple(value["questions"]),
        tuple(CoverageRow(**{**row, "scenarios": tuple(row["scenarios"])}) for row in value["coverage"]),
    )
    check_sense(verdict)
    return verdict


def _unfence(text: str) -> tuple[str, int]:
    """Return the inside of an answer that is one fence as a whole, else the answer, and its first line."""
    stripped = text.removeprefix("\ufeff").strip()
    line = 1 + text[: len(text) - len(text.removeprefix("\ufeff").lstrip())].count("\n")
    if not stripped.startswith("```"):
        return stripped, line
    first, _, rest = stripped.partition("\n")
    if first.strip().casefold() not in ("```json", "```") or not rest.endswith("\n```"):
        raise VerdictError("the answer is not one JSON object: a fence must hold the whole answer", line)
    return rest.removesuffix("\n```"), line + 1
