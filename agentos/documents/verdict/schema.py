"""Read and write a verdict as JSON of the schema that models are given."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from agentos.documents.findings import Basis, Category, Finding, Quote, Tier, limit_tier
from agentos.documents.strict_json import StrictJsonError, load_strict
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
    check_sense,
)


def _object_schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_schema(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": entry}


def _choice_schema(choices: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": list(map(str, choices))}


_TEXT = {"type": "string"}
_QUOTE = _object_schema(path=_TEXT, line={"type": "integer"}, text=_TEXT)
_FINDING = _object_schema(
    id=_TEXT,
    tier=_choice_schema(Tier),
    category=_choice_schema(Category),
    section=_TEXT,
    text=_TEXT,
    basis=_choice_schema(Basis),
    quotes=_list_schema(_QUOTE),
)
_EARLIER = _object_schema(id=_TEXT, state=_choice_schema(EarlierState), reason=_TEXT)
_RESOLVED = _object_schema(question=_TEXT, answer=_TEXT, basis=_choice_schema(Basis))
_SOURCE_ERROR = _object_schema(sentence=_TEXT, quote=_QUOTE, reading=_TEXT)
_COVERAGE = _object_schema(
    requirement=_TEXT,
    text=_TEXT,
    scenarios=_list_schema(_TEXT),
    covered={"type": "boolean"},
)
VERDICT_SCHEMA: dict[str, Any] = _object_schema(
    decision=_choice_schema(Decision),
    summary=_TEXT,
    earlier=_list_schema(_EARLIER),
    findings=_list_schema(_FINDING),
    resolved_questions=_list_schema(_RESOLVED),
    source_errors=_list_schema(_SOURCE_ERROR),
    questions=_list_schema(_TEXT),
    coverage=_list_schema(_COVERAGE),
)
_KEPT = _object_schema(scenario=_TEXT, kept={"type": "boolean"}, reason=_TEXT)
PLAN_VERDICT_SCHEMA: dict[str, Any] = _object_schema(
    **VERDICT_SCHEMA["properties"],
    kept=_list_schema(_KEPT),
)
"""The verdict on a test plan, which says as well what must not change."""
DEFAULTS: dict[str, Any] = {
    "earlier": [],
    "source_errors": [],
    "kept": [],
    "basis": str(Basis.TEXT),
    "quotes": [],
}
"""The fields that an answer may leave out; earlier versions had none of them."""


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also allows null.

    The strict modes of the providers want every property and know no optional one, but
    all of them take a choice with null.
    """
    return {"anyOf": [schema, {"type": "null"}]}


LOOK_OR_VERDICT_SCHEMA: dict[str, Any] = _object_schema(
    look=_nullable(_list_schema(_TEXT)),
    verdict=_nullable(VERDICT_SCHEMA),
)
"""A reviewer asks for lines of the repository, or gives its verdict; the other is
null.
"""
LOOK_OR_PLAN_VERDICT_SCHEMA: dict[str, Any] = _object_schema(
    look=_nullable(_list_schema(_TEXT)),
    verdict=_nullable(PLAN_VERDICT_SCHEMA),
)
"""The same for the reviewer of a test plan."""


def parse_verdict(text: str) -> Verdict:
    """Read an answer that is exactly one verdict object, or raise `VerdictError`."""
    inside = _unfence(text.removeprefix("\ufeff").strip())
    try:
        value = load_strict(inside)
    except StrictJsonError as error:
        raise VerdictError(str(error)) from None
    return build_verdict(value)


def verdict_json(verdict: Verdict) -> str:
    """Write a verdict as JSON that `parse_verdict` reads."""
    # With an indent, each call would leave objects to the garbage collector.
    return json.dumps(asdict(verdict), ensure_ascii=False)


def build_verdict(value: Any) -> Verdict:
    """Build a verdict from a JSON value, or raise `VerdictError`."""
    _check(value, PLAN_VERDICT_SCHEMA, "the verdict")
    resolved = [
        ResolvedQuestion(entry["question"], entry["answer"], Basis(entry["basis"]))
        for entry in value["resolved_questions"]
    ]
    earlier = [
        EarlierFinding(entry["id"], EarlierState(entry["state"]), entry["reason"])
        for entry in value["earlier"]
    ]
    verdict = Verdict(
        Decision(value["decision"]),
        value["summary"],
        tuple(map(_build_finding, value["findings"])),
        tuple(resolved),
        tuple(value["questions"]),
        tuple(map(_build_row, value["coverage"])),
        tuple(earlier),
        tuple(map(_build_source_error, value["source_errors"])),
        tuple(KeptScenario(**entry) for entry in value["kept"]),
    )
    check_sense(verdict)
    return verdict


def _build_finding(entry: dict[str, Any]) -> Finding:
    finding = Finding(
        entry["id"],
        Tier(entry["tier"]),
        Category(entry["category"]),
        entry["section"],
        entry["text"],
        Basis(entry["basis"]),
        tuple(Quote(**quote) for quote in entry["quotes"]),
    )
    return limit_tier(finding)


def _build_source_error(entry: dict[str, Any]) -> SourceError:
    return SourceError(entry["sentence"], Quote(**entry["quote"]), entry["reading"])


def _build_row(entry: dict[str, Any]) -> CoverageRow:
    return CoverageRow(
        entry["requirement"],
        entry["text"],
        tuple(entry["scenarios"]),
        entry["covered"],
    )


def _unfence(text: str) -> str:
    if not text.startswith("```"):
        return text
    first, _, rest = text.partition("\n")
    if first.strip().casefold() not in ("```json", "```") or not rest.endswith("\n```"):
        raise VerdictError(
            "the answer is not one JSON object: a fence must hold the whole answer"
        )
    return rest.removesuffix("\n```")


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    match schema["type"]:
        case "string":
            _check_text(value, schema, where)
        case "boolean":
            if not isinstance(value, bool):
                raise VerdictError(f"{where} must be true or false")
        case "integer":
            if not isinstance(value, int) or isinstance(value, bool):
                raise VerdictError(f"{where} must be a whole number")
        case "array":
            if not isinstance(value, list) or len(value) > MAX_ENTRIES:
                raise VerdictError(
                    f"{where} must be a list of at most {MAX_ENTRIES} entries"
                )
            for index, entry in enumerate(value):
                _check(entry, schema["items"], f"{where}[{index}]")
        case _:
            _check_object(value, schema, where)


def _check_text(value: Any, schema: dict[str, Any], where: str) -> None:
    if value is None:
        raise VerdictError(f"{where} is missing")
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise VerdictError(f"{where} must be text of at most {MAX_TEXT} characters")
    allowed = schema.get("enum")
    if allowed and value not in allowed:
        raise VerdictError(
            f"{where} is {value[:60]!r}: must be one of {', '.join(allowed)}"
        )
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise VerdictError(f"{where} holds half a character")


def _check_object(value: Any, schema: dict[str, Any], where: str) -> None:
    if not isinstance(value, dict):
        raise VerdictError(f"{where} must be a JSON object")
    properties = schema["properties"]
    for name in properties:
        if name in DEFAULTS:
            value.setdefault(name, DEFAULTS[name])
        if name not in value:
            raise VerdictError(f"{where} lacks {name}")
    for name in value:
        if name not in properties:
            raise VerdictError(f"{where} has an unknown field {name[:60]!r}")
    for name, part in properties.items():
        place = name if where == "the verdict" else f"{where}.{name}"
        _check(value[name], part, place)
