"""Find the verdict object in an answer, and read it with the synonyms models use.

Any prose may surround an object that asks for a revision. An object that approves must
be the whole answer: only a fence and one line of fixed wording before and after it are
accepted, because any other text could take the approval back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentos.documents.findings import Basis, Category, Tier, is_praise
from agentos.documents.strict_json import MAX_BYTES, StrictJsonError, load_strict
from agentos.documents.verdict.model import (
    Decision,
    EarlierState,
    Verdict,
    VerdictError,
)
from agentos.documents.verdict.schema import VERDICT_SCHEMA, build_verdict

_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_OBJECT_START = re.compile(r"^[ \t]*(?=\{|\[\s*\{)", re.MULTILINE)
_TOKEN = re.compile(rf"{_STRING}|[\[\]{{}}]", re.DOTALL)
_DECISION_FIELD = re.compile(r'"(?:decision|verdict)"\s*:', re.IGNORECASE)
_REPAIRABLE = re.compile(
    rf"{_STRING}|//[^\n]*|,(?=\s*(?://[^\n]*\s*)?[}}\]])", re.DOTALL
)
_LINE_ENDS = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}

_FENCE = re.compile(r"(`{3,}|~{3,})(?:json[c5]?)?", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"(?:(?:sure|certainly|okay)[,.!] )?"
    r"(?:(?:here is|here's|below is|this is) )?"
    r"(?:my|the)(?: final| complete)? (?:review|verdict|answer|assessment)"
    r"(?: (?:in|as) json)?[:.]?",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:that is all|let me know if you need (?:anything else|more)(?: details)?)[.!]?",
    re.IGNORECASE,
)

_WRAPPERS = frozenset({"verdict", "review", "result"})
_DECISION_NAMES = ("decision", "verdict")
_SUMMARY_NAMES = ("summary", "rationale")
_QUESTION_NAMES = ("questions", "open_questions", "questions_for_orchestrator")
_TEXT_NAMES = ("text", "description", "issue", "finding", "message")
_TIER_NAMES = ("tier", "severity")
_EARLIER_NAMES = ("earlier", "earlier_findings", "previous_findings")
_SOURCE_ERROR_NAMES = ("source_errors", "issue_errors")
_QUOTE_NAMES = ("quotes", "quote", "evidence")
_LINE_NUMBER = re.compile(r"[Ll]?([0-9]{1,9})(?:\s*[-:,].*)?")
_EARLIER_STATES = {
    "closed": EarlierState.RESOLVED,
    "done": EarlierState.RESOLVED,
    "fixed": EarlierState.RESOLVED,
    "addressed": EarlierState.RESOLVED,
    "still_open": EarlierState.OPEN,
    "unresolved": EarlierState.OPEN,
    "not_resolved": EarlierState.OPEN,
    "repeated": EarlierState.OPEN,
    "dropped": EarlierState.WITHDRAWN,
    "retracted": EarlierState.WITHDRAWN,
}
_FINDING_LISTS: dict[str, Tier | None] = {
    "findings": None,
    "issues": None,
    "blocking": Tier.BLOCKING,
    "blocking_issues": Tier.BLOCKING,
    "blocking_findings": Tier.BLOCKING,
    "blockers": Tier.BLOCKING,
    "tier_1": Tier.BLOCKING,
    "high_priority": Tier.HIGH,
    "high_priority_issues": Tier.HIGH,
    "tier_2": Tier.HIGH,
    "suggestions": Tier.SUGGESTION,
    "tier_3": Tier.SUGGESTION,
}
_TIERS = {
    "critical": Tier.BLOCKING,
    "tier_1": Tier.BLOCKING,
    "major": Tier.HIGH,
    "high_priority": Tier.HIGH,
    "tier_2": Tier.HIGH,
    "minor": Tier.SUGGESTION,
    "low": Tier.SUGGESTION,
    "tier_3": Tier.SUGGESTION,
}
_DECISIONS = {
    "approve": Decision.APPROVED,
    "approved": Decision.APPROVED,
    "revise": Decision.REVISE,
    "needs_revision": Decision.REVISE,
    "request_changes": Decision.REVISE,
    "changes_requested": Decision.REVISE,
    "block": Decision.REVISE,
    "blocked": Decision.REVISE,
    "reject": Decision.REVISE,
    "rejected": Decision.REVISE,
    "discuss": Decision.DISCUSS,
    "needs_discussion": Decision.DISCUSS,
}
_HARMLESS_NAMES = frozenset(
    ["confidence", "date", "item", "model", "rationale", "reviewer", "round", "score"]
)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """The JSON text of an object and its position in the answer; `line` counts from 1."""

    text: str
    start: int
    end: int
    line: int


def looks_of_reviewer(answer: str) -> tuple[str, ...] | None:
    """Return the looks that an answer asks for, None if it asks for none."""
    for candidate in _find_json(answer):
        try:
            value = _load_relaxed(candidate.text)
        except StrictJsonError:
            continue
        if not isinstance(value, dict):
            continue
        looks = value.get("look")
        if isinstance(looks, str):
            looks = [looks]
        if isinstance(looks, list) and looks:
            return tuple(map(str, looks))
    return None


def find_object(answer: str) -> FoundObject | None:
    """Return the one verdict object of an answer, None if there is none.

    A truncated object counts as well, so that the decision is never read from another
    place. Two objects are an error.
    """
    found: FoundObject | None = None
    for candidate in _find_json(answer):
        if not _is_verdict(candidate.text):
            continue
        if found is not None:
            raise VerdictError(
                f"a second verdict object, after line {found.line}", candidate.line
            )
        found = candidate
    return found


def read_object(answer: str, found: FoundObject) -> Verdict:
    """Read the verdict object of an answer, or raise `VerdictError`."""
    try:
        value = _load_relaxed(found.text)
    except StrictJsonError as error:
        cause = error.__context__
        line = found.line
        if isinstance(cause, json.JSONDecodeError):
            line += cause.lineno - 1
        raise VerdictError(str(error), line) from None
    try:
        fields = _unwrap(value)
        if fields is None:
            raise VerdictError("the object has no decision")
        verdict = build_verdict(_normalize(fields))
    except VerdictError as error:
        raise VerdictError(str(error), found.line) from None
    if verdict.decision is Decision.APPROVED:
        _check_alone(answer, found)
    return verdict


def _find_json(answer: str) -> Iterator[FoundObject]:
    """Yield every JSON object that begins a line; an unclosed one runs to the end."""
    position = 0
    line = 1
    while match := _OBJECT_START.search(answer, position):
        start = match.end()
        line += answer.count("\n", position, start)
        end = _find_end(answer, start)
        yield FoundObject(answer[start:end], start, end, line)
        line += answer.count("\n", start, end)
        position = end


def _find_end(text: str, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def _is_verdict(text: str) -> bool:
    try:
        return _unwrap(_load_relaxed(text)) is not None
    except (StrictJsonError, VerdictError):
        return _DECISION_FIELD.search(text) is not None


def _load_relaxed(text: str) -> Any:
    """Load JSON; accept comments, trailing commas and line ends in strings."""
    try:
        return load_strict(text)
    except StrictJsonError:
        if len(text) > MAX_BYTES:
            raise
        return load_strict(_REPAIRABLE.sub(_repair, text))


def _repair(match: re.Match[str]) -> str:
    if match[0].startswith('"'):
        return match[0].translate(_LINE_ENDS)
    return ""


def _unwrap(value: Any) -> dict[str, Any] | None:
    """Return the object with a decision, which a value is or wraps, or None."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    fields = _fold_names(value)
    if not fields.get("look") or isinstance(fields.get("verdict"), dict):
        # The other branch of the answer.
        fields.pop("look", None)
    if len(fields) == 1 and _WRAPPERS.issuperset(fields):
        (inside,) = fields.values()
        if isinstance(inside, dict):
            fields = _fold_names(inside)
    if "decision" in fields or "verdict" in fields:
        return fields
    return None


def _fold_names(value: dict[str, Any]) -> dict[str, Any]:
    folded: dict[str, Any] = {}
    for name, field in value.items():
        known = _fold(name)
        if known in folded:
            raise VerdictError(f"the field {name[:60]!r} is given twice")
        folded[known] = field
    return folded


def _fold(word: str) -> str:
    words = re.split(r"[\s_-]+", word.strip())
    return "_".join(words).casefold()


def _normalize(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a verdict object of the schema, or raise `VerdictError`.

    Unknown fields are dropped, unless the decision is APPROVED and they could restrict
    it.
    """
    left = dict(fields)
    decision = _take_decision(left)
    summary = _take_first(left, _SUMMARY_NAMES)
    questions: list[Any] = []
    for name in _QUESTION_NAMES:
        questions += _take_list(left, name)
    findings: list[dict[str, Any]] = []
    for name, tier in _FINDING_LISTS.items():
        for entry in _take_list(left, name):
            finding = _normalize_finding(entry, tier, decision)
            if is_praise(str(finding["text"])):
                continue
            finding["id"] = finding["id"] or f"{name}-{len(findings) + 1}"
            findings.append(finding)
    value = {
        "decision": str(decision),
        "summary": summary,
        "earlier": _take_earlier(left),
        "findings": findings,
        "resolved_questions": _take_entries(left, "resolved_questions"),
        "source_errors": _take_source_errors(left),
        "questions": questions,
        "coverage": _take_entries(left, "coverage"),
        "kept": _take_kept(left),
    }
    if left.get("approved") is True and decision is Decision.APPROVED:
        del left["approved"]
    _check_unknown(left, decision)
    return value


def _take_decision(fields: dict[str, Any]) -> Decision:
    stated = set()
    for name in _DECISION_NAMES:
        if name not in fields:
            continue
        word = str(fields.pop(name))
        decision = _DECISIONS.get(_fold(word))
        if decision is None:
            allowed = ", ".join(Decision)
            raise VerdictError(f"{name} is {word[:60]!r}: must be one of {allowed}")
        stated.add(decision)
    if len(stated) > 1:
        raise VerdictError(
            "the verdict contradicts itself: decision and verdict differ"
        )
    return stated.pop()


def _take_first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in fields:
            return fields.pop(name)
    return None


def _take_list(fields: dict[str, Any], name: str) -> list[Any]:
    entries = fields.pop(name, None)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise VerdictError(f"{name} must be a list")
    return entries


def _take_entries(fields: dict[str, Any], name: str) -> list[Any]:
    """Take a list and drop the unknown fields of its entries."""
    known = VERDICT_SCHEMA["properties"][name]["items"]["properties"]
    kept: list[Any] = []
    for entry in _take_list(fields, name):
        if isinstance(entry, dict):
            entry = {field: entry[field] for field in known if field in entry}
        kept.append(entry)
    return kept


def _take_earlier(fields: dict[str, Any]) -> list[Any]:
    """Take the states of earlier findings."""
    states = []
    for name in _EARLIER_NAMES:
        for entry in _take_list(fields, name):
            left = _as_fields(entry, "an earlier finding")
            word = _fold(str(_take_first(left, ("state", "status", "outcome"))))
            reason = _take_first(left, ("reason", *_TEXT_NAMES)) or ""
            states.append(
                {
                    "id": left.pop("id", None),
                    "state": str(_EARLIER_STATES.get(word, word)),
                    "reason": reason,
                }
            )
    return states


def _take_source_errors(fields: dict[str, Any]) -> list[Any]:
    """Take what the reviewer says is wrong in the source; an incomplete entry counts
    as none.
    """
    errors = []
    for name in _SOURCE_ERROR_NAMES:
        for entry in _take_list(fields, name):
            left = _as_fields(entry, "a source error")
            quotes = _take_quotes(left)
            if not quotes:
                continue
            errors.append(
                {
                    "sentence": left.pop("sentence", None),
                    "quote": quotes[0],
                    "reading": left.pop("reading", None),
                }
            )
    return errors


def _take_kept(fields: dict[str, Any]) -> list[Any]:
    """Take what is said of scenarios that must not change; one that is only named is
    kept, and one that names nothing counts as none.
    """
    scenarios = []
    for entry in _take_list(fields, "kept"):
        if not isinstance(entry, dict):
            entry = {"scenario": entry}
        left = _fold_names(entry)
        name = _take_first(left, ("scenario", "id"))
        is_kept = left.get("kept", True)
        if name is None or not isinstance(is_kept, bool):
            continue
        reason = left.get("reason") or ""
        scenario = {"scenario": str(name), "kept": is_kept, "reason": reason}
        scenarios.append(scenario)
    return scenarios


def _take_quotes(fields: dict[str, Any]) -> list[Any]:
    """Take the quoted lines; one that names no file shows nothing and is dropped."""
    given = _take_first(fields, _QUOTE_NAMES) or []
    if not isinstance(given, list):
        given = [given]
    quotes = []
    for entry in given:
        if not isinstance(entry, dict):
            continue
        left = _fold_names(entry)
        path = _take_first(left, ("path", "file"))
        text = _take_first(left, ("text", "quote", "code"))
        number = _LINE_NUMBER.fullmatch(str(left.get("line") or "0").strip())
        if path and text:
            line = int(number[1]) if number else 0
            quotes.append({"path": path, "line": line, "text": text})
    return quotes


def _as_fields(entry: Any, what: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise VerdictError(f"{what} must be a JSON object")
    return _fold_names(entry)


def _normalize_finding(
    entry: Any, tier: str | None, decision: Decision
) -> dict[str, Any]:
    """Read a finding; `tier` is that of its list, None if each entry has its own."""
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, dict):
        raise VerdictError("a finding must be a JSON object or text")
    left = _fold_names(entry)
    own = _take_first(left, _TIER_NAMES)
    if own is not None:
        own = _fold(str(own))
        own = _TIERS.get(own, own)
        if tier not in (None, own):
            raise VerdictError(f"a finding in the list of tier {tier} has another tier")
        tier = own
    text = _take_first(left, _TEXT_NAMES)
    recommendation = left.pop("recommendation", None)
    if recommendation:
        text = f"{text} Recommendation: {recommendation}"
    category = left.pop("category", None) or Category.QUALITY
    finding = {
        "id": left.pop("id", None) or "",
        "tier": tier,
        "category": _fold(str(category)),
        "section": _take_first(left, ("section", "place")) or "",
        "text": text,
        "basis": _fold(str(left.pop("basis", None) or Basis.TEXT)),
        "quotes": _take_quotes(left),
    }
    _check_unknown(left, decision)
    return finding


def _check_unknown(fields: dict[str, Any], decision: Decision) -> None:
    """Refuse an approval with a field that may restrict it, such as `conditions`."""
    if decision is not Decision.APPROVED:
        return
    for name, field in fields.items():
        # False is not empty here: `"ready": false` speaks against an approval.
        is_zero = field == 0 and field is not False
        is_empty = is_zero or field in (None, "", [], {})
        if name not in _HARMLESS_NAMES and not is_empty:
            raise VerdictError(f"APPROVED with an unknown field {name[:60]!r}")


def _check_alone(answer: str, found: FoundObject) -> None:
    before = answer[: found.start]
    after = answer[found.end :]
    above, _, last = before.rstrip().rpartition("\n")
    fence = _FENCE.fullmatch(last.strip())
    if fence is not None:
        first, _, below = after.lstrip().partition("\n")
        if first.strip() == fence[1]:
            before = above
            after = below
    before = before.strip()
    after = after.strip()
    if before and not _INTRODUCTION.fullmatch(before):
        raise VerdictError("APPROVED with other text before the object", found.line)
    if after and not _CLOSING.fullmatch(after):
        raise VerdictError("APPROVED with other text after the object", found.line)
