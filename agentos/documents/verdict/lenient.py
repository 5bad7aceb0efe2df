"""Read a verdict object in the near-JSON that reviewers send, without making an approval of anything else."""

from __future__ import annotations

import re
from typing import Any

from agentos.documents.strict_json import MAX_BYTES, StrictJsonError, load_strict
from agentos.documents.verdict.model import Decision, Verdict, VerdictError
from agentos.documents.verdict.schema import VERDICT_SCHEMA
from agentos.documents.verdict.structured import build, parse_object

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|//[^\n]*|,(?=\s*(?://[^\n]*\s*)?[}\]])', re.DOTALL)
_CONTROLS = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_WRAPPERS = frozenset({"verdict", "review", "result"})
_TELLING = ("approv", "condition", "block", "verdict", "required", "must", "status", "decision", "reject", "caveat")


def read_object(text: str, line: int) -> Verdict:
    """Read a verdict object, first by the letter, then with what reviewers get wrong put right."""
    try:
        return parse_object(text, line)
    except VerdictError as error:
        try:
            value = _mend(unwrapped(load_relaxed(text)))
            return build(value) if value is not None else _refuse(error)
        except StrictJsonError:
            raise error from None
        except VerdictError as second:
            raise VerdictError(str(second), line) from None


def load_relaxed(text: str) -> Any:
    """Return JSON as Python values; comments, trailing commas and line ends in strings are let pass."""
    try:
        return load_strict(text)
    except StrictJsonError:
        if len(text) > MAX_BYTES:
            raise
        return load_strict(_PIECE.sub(_put_right, text))


def unwrapped(value: Any) -> dict[str, Any] | None:
    """Return the one verdict object that a value is or wraps, else None."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and len(value) == 1 and _WRAPPERS.issuperset(value):
        value = next(iter(value.values()))
    return value if isinstance(value, dict) and "decision" in value else None


def _refuse(error: VerdictError) -> Verdict:
    raise error


def _put_right(match: re.Match[str]) -> str:
    return match[0].translate(_CONTROLS) if match[0][0] == '"' else ""


def _mend(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a verdict object with the fields of the schema, or None when it cannot be one."""
    if value is None or not isinstance(value["decision"], str):
        return None
    decision = value["decision"].strip().upper()
    unknown = {name: told for name, told in value.items() if name not in VERDICT_SCHEMA["properties"]}
    if decision == Decision.APPROVED and any(_is_telling(name, told) for name, told in unknown.items()):
        return None
    lists = ("findings", "resolved_questions", "questions", "coverage")
    known = {name: value.get(name, []) for name in lists}
    if not all(isinstance(entries, list) for entries in known.values()):
        return None
    entries = {
        name: [_mend_entry(entry, VERDICT_SCHEMA["properties"][name]["items"]) for entry in known[name]]
        for name in lists
    }
    return {"decision": decision, "summary": value.get("summary"), **entries}


def _is_telling(name: str, told: Any) -> bool:
    """Tell whether an unknown field may take an approval back."""
    is_empty = told in (None, "", 0, True) or (isinstance(told, list | dict) and not told)
    return any(word in name.casefold() for word in _TELLING) and (not is_empty or told is False)


def _mend_entry(entry: Any, schema: dict[str, Any]) -> Any:
    if not isinstance(entry, dict) or schema["type"] != "object":
        return entry
    kept = {name: told for name, told in entry.items() if name in schema["properties"]}
    if "section" in schema["properties"] and kept.get("section") is None:
        kept["section"] = ""
    for name in ("tier", "category"):
        if isinstance(kept.get(name), str):
            kept[name] = kept[name].strip().casefold()
    return kept
