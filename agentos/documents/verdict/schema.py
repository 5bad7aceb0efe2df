"""The JSON schema of a verdict, and the check of a value against it."""

from __future__ import annotations

from typing import Any

from agentos.documents.findings import Category, Tier
from agentos.documents.verdict.model import MAX_ENTRIES, MAX_TEXT, Decision, VerdictError


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


def check_schema(value: Any) -> None:
    """Raise `VerdictError` when a value does not have the form of a verdict."""
    _check(value, VERDICT_SCHEMA, "the verdict")


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
