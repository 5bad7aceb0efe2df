"""A reviewer's verdict: its schema, its strict reading and its Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.strict_json import StrictJsonError, load_strict
from agentos.documents.tables import render_table

__all__ = [
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
    "render_verdict",
    "verdict_json",
]

MAX_TEXT = 20_000
MAX_ENTRIES = 5_000


class VerdictError(ValueError):
    """An answer that is no verdict."""


class Decision(StrEnum):
    """What a reviewer decides."""

    APPROVED = "APPROVED"
    REVISE = "REVISE"
    DISCUSS = "DISCUSS"


@dataclass(frozen=True, slots=True)
class ResolvedQuestion:
    """An open question of the document and the answer the reviewer gave."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """A requirement and the scenarios that test it."""

    requirement: str
    text: str
    scenarios: tuple[str, ...]
    covered: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer decided, and why."""

    decision: Decision
    summary: str
    findings: tuple[Finding, ...] = ()
    resolved_questions: tuple[ResolvedQuestion, ...] = ()
    questions: tuple[str, ...] = ()
    """Questions that only a person can answer."""
    coverage: tuple[CoverageRow, ...] = ()

    @property
    def covered_share(self) -> float:
        """Return the share of requirements that are tested, 1.0 when there are none."""
        if not self.coverage:
            return 1.0
        return sum(row.covered for row in self.coverage) / len(self.coverage)


def _object_schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_schema(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": entry}


_TEXT = {"type": "string"}
VERDICT_SCHEMA: dict[str, Any] = _object_schema(
    decision={"type": "string", "enum": [str(decision) for decision in Decision]},
    summary=_TEXT,
    findings=_list_schema(
        _object_schema(
            id=_TEXT,
            tier={"type": "string", "enum": [str(tier) for tier in Tier]},
            category={"type": "string", "enum": [str(category) for category in Category]},
            section=_TEXT,
            text=_TEXT,
        )
    ),
    resolved_questions=_list_schema(_object_schema(question=_TEXT, answer=_TEXT)),
    questions=_list_schema(_TEXT),
    coverage=_list_schema(
        _object_schema(requirement=_TEXT, text=_TEXT, scenarios=_list_schema(_TEXT), covered={"type": "boolean"})
    ),
)


def parse_verdict(text: str) -> Verdict:
    """Read an answer that is exactly one verdict object, or raise `VerdictError`."""
    try:
        value = load_strict(_unfence(text))
    except StrictJsonError as error:
        raise VerdictError(str(error)) from None
    _check(value, VERDICT_SCHEMA, "the verdict")
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
    _check_sense(verdict)
    return verdict


def _unfence(text: str) -> str:
    """Return the inside of an answer that is one fence as a whole, else the answer."""
    stripped = text.removeprefix("\ufeff").strip()
    if not stripped.startswith("```"):
        return stripped
    first, _, rest = stripped.partition("\n")
    if first.strip().casefold() not in ("```json", "```") or not rest.endswith("\n```"):
        raise VerdictError("the answer is not one JSON object: a fence must hold the whole answer")
    return rest.removesuffix("\n```")


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    match schema["type"]:
        case "string":
            _check_text(value, schema, where)
        case "boolean":
            if not isinstance(value, bool):
                raise VerdictError(f"{where} must be true or false")
        case "array":
            if not isinstance(value, list) or len(value) > MAX_ENTRIES:
                raise VerdictError(f"{where} must be a list of at most {MAX_ENTRIES} entries")
            for index, entry in enumerate(value):
                _check(entry, schema["items"], f"{where}[{index}]")
        case _:
            _check_object(value, schema, where)


def _check_text(value: Any, schema: dict[str, Any], where: str) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise VerdictError(f"{where} must be text of at most {MAX_TEXT} characters")
    allowed = schema.get("enum")
    if allowed and value not in allowed:
        raise VerdictError(f"{where} is {value[:60]!r}: must be one of {', '.join(allowed)}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise VerdictError(f"{where} holds half a character")


def _check_object(value: Any, schema: dict[str, Any], where: str) -> None:
    if not isinstance(value, dict):
        raise VerdictError(f"{where} must be a JSON object")
    missing = [name for name in schema["required"] if name not in value]
    if missing:
        raise VerdictError(f"{where} lacks {', '.join(missing)}")
    unknown = [name for name in value if name not in schema["properties"]]
    if unknown:
        raise VerdictError(f"{where} has an unknown field {unknown[0][:60]!r}")
    for name, part in schema["properties"].items():
        _check(value[name], part, name if where == "the verdict" else f"{where}.{name}")


def _check_sense(verdict: Verdict) -> None:
    if not verdict.summary.strip():
        raise VerdictError("summary is empty")
    ids = [finding.id for finding in verdict.findings]
    if len(set(ids)) != len(ids) or not all(id.strip() for id in ids):
        raise VerdictError("every finding needs an id of its own")
    blocking = [finding.id for finding in verdict.findings if finding.tier is Tier.BLOCKING]
    if verdict.decision is Decision.APPROVED and blocking:
        raise VerdictError(f"the verdict contradicts itself: APPROVED with blocking finding {blocking[0]}")


def verdict_json(verdict: Verdict) -> str:
    """Write a verdict in the form that `parse_verdict` reads."""
    return json.dumps(asdict(verdict), indent=1, ensure_ascii=False)


_TIER_TITLES = {
    Tier.BLOCKING: "Tier 1: Blocking",
    Tier.HIGH: "Tier 2: High priority",
    Tier.SUGGESTION: "Tier 3: Suggestions",
}
_TIER_CATEGORIES = {
    Tier.BLOCKING: (Category.COST, Category.SAFETY, Category.SECURITY, Category.LEGAL),
    Tier.HIGH: (Category.ARCHITECTURE, Category.OBSERVABILITY, Category.QUALITY),
    Tier.SUGGESTION: (),
}
_BOXES = {
    Decision.APPROVED: "ready for implementation",
    Decision.REVISE: "fix the blocking and high-priority findings first",
    Decision.DISCUSS: "a person has to decide first",
}


def render_verdict(verdict: Verdict, title: str) -> str:
    """Write a verdict as Markdown with exactly one box checked."""
    parts = [f"# Review: {_flat(title)}", f"## Summary\n\n{_flat(verdict.summary)}"]
    if verdict.resolved_questions:
        rows = [f"- [x] {_flat(q.question)} **Resolved:** {_flat(q.answer)}" for q in verdict.resolved_questions]
        parts.append("## Open questions resolved\n\n" + "\n".join(rows))
    if verdict.coverage:
        parts.append(_render_coverage(verdict))
    parts.extend(_render_tier(tier, verdict.findings) for tier in Tier)
    asked = [f"{number}. {_flat(question)}" for number, question in enumerate(verdict.questions, 1)]
    parts.append("## Questions for a person\n\n" + ("\n".join(asked) or "None."))
    boxes = (
        f"- [{'x' if decision is verdict.decision else ' '}] **{decision}** - {meaning}"
        for decision, meaning in _BOXES.items()
    )
    parts.append("## Verdict\n\n" + "\n".join(boxes))
    return "\n\n".join(parts) + "\n"


def _render_coverage(verdict: Verdict) -> str:
    rows = [
        (
            row.requirement,
            row.text,
            ", ".join(row.scenarios) or "-",
            "covered" if row.covered else "NOT COVERED",
        )
        for row in verdict.coverage
    ]
    covered = sum(row.covered for row in verdict.coverage)
    table = render_table(("#", "Requirement", "Scenarios", "Status"), rows)
    total = f"**Coverage:** {covered} of {len(rows)} requirements = {int(100 * verdict.covered_share)}%"
    return f"## Requirement coverage\n\n{table}\n\n{total}"


def _render_tier(tier: Tier, findings: Iterable[Finding]) -> str:
    mine = [finding for finding in findings if finding.tier is tier]
    lines = [f"## {_TIER_TITLES[tier]}", ""]
    if not mine:
        return "\n".join([*lines, "No issues found."])
    used = {finding.category for finding in mine}
    for category in [*_TIER_CATEGORIES[tier], *(c for c in Category if c not in _TIER_CATEGORIES[tier])]:
        if category not in used:
            continue
        lines += [f"### {category.capitalize()}", ""]
        lines += [_render_finding(finding) for finding in mine if finding.category is category]
        lines.append("")
    return "\n".join(lines).rstrip()


def _render_finding(finding: Finding) -> str:
    where = f" ({_flat(finding.section)})" if finding.section.strip() else ""
    return f"- **{_flat(finding.id)}**{where}: {_flat(finding.text)}"


def _flat(text: str) -> str:
    """Keep a stranger's text on one line, and no comment or heading mark at its start."""
    return " ".join(text.split()).replace("<!--", "&lt;!--").lstrip("#").strip()
