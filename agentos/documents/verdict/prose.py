"""Read a verdict from the Markdown that a reviewer writes."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.findings import Tier
from agentos.documents.markdown import Kind, Line, scan
from agentos.documents.strict_json import MAX_BYTES
from agentos.documents.verdict.contents import read_coverage, read_questions, read_resolved, read_summary
from agentos.documents.verdict.contradictions import check_words
from agentos.documents.verdict.issues import read_findings
from agentos.documents.verdict.marks import strip_marker
from agentos.documents.verdict.model import MAX_ENTRIES, Decision, Verdict, VerdictError, check_sense
from agentos.documents.verdict.parts import read_parts
from agentos.documents.verdict.quoting import is_statement_quoted
from agentos.documents.verdict.statements import Statement, Weight, collect, judge
from agentos.documents.verdict.structured import verdict_json


def read_markdown(lines: Sequence[Line]) -> Verdict:
    """Read the one clear verdict of a scanned review, or raise `VerdictError`."""
    parts = read_parts(lines)
    statements = collect(parts)
    decided = judge(statements)
    if decided.decision is None:
        raise VerdictError("the verdict is not clear", decided.line)
    if decided.decision is Decision.APPROVED:
        _check_end(lines)
        _check_quotes(statements, lines)
        check_words(parts)
    verdict = Verdict(
        decided.decision,
        read_summary(parts, decided.explanation),
        read_findings(parts, {statement.line for statement in statements}),
        read_resolved(parts),
        read_questions(parts),
        read_coverage(parts),
    )
    _check_size(verdict)
    check_sense(verdict, decided.line)
    return verdict


def _check_quotes(statements: Sequence[Statement], lines: Sequence[Line]) -> None:
    """Raise `VerdictError` for an approval that is introduced as someone else's words."""
    for statement in statements:
        if statement.decision is Decision.APPROVED and is_statement_quoted(lines, statement.line):
            raise VerdictError("the verdict is introduced as someone else's words", statement.line)


def check_around(text: str, decision: Decision) -> None:
    """Raise `VerdictError` when the Markdown around a verdict object states something else."""
    parts = read_parts(scan(text))
    statements = collect(parts, is_whole=False)
    for statement in statements:
        if statement.decision is not decision and (statement.weight is not Weight.SIDE or _is_approval(decision)):
            raise VerdictError(f"the answer says {statement.text[:80]!r} beside {decision}", statement.line)
    if _is_approval(decision):
        check_words(parts)
    found = read_findings(parts, {statement.line for statement in statements})
    if _is_approval(decision) and any(finding.tier is Tier.BLOCKING for finding in found):
        raise VerdictError("the verdict contradicts itself: APPROVED with blocking findings beside it")


def _is_approval(decision: Decision) -> bool:
    return decision is Decision.APPROVED


def _check_end(lines: Sequence[Line]) -> None:
    """Raise `VerdictError` when an answer looks cut: in a fence or within a check box."""
    fence = Kind.FENCE
    fences = [line.number for line in lines if line.kind is fence]
    if len(fences) % 2:
        raise VerdictError("a fence is not closed: the answer looks cut", fences[-1])
    shown = next((line for line in reversed(lines) if line.kind is not Kind.BLANK), None)
    last = strip_marker(shown.text)[0] if shown is not None else ""
    if shown is not None and last[:1] == "[" and "]" not in last:
        raise VerdictError("a box is not complete: the answer looks cut", shown.number)


def _check_size(verdict: Verdict) -> None:
    for name in ("findings", "resolved_questions", "questions", "coverage"):
        if len(getattr(verdict, name)) > MAX_ENTRIES:
            raise VerdictError(f"{name} has more than {MAX_ENTRIES} entries")
    if any(len(row.scenarios) > MAX_ENTRIES for row in verdict.coverage):
        raise VerdictError(f"a row of the coverage has more than {MAX_ENTRIES} scenarios")
    if len(verdict_json(verdict).encode()) > MAX_BYTES:
        raise VerdictError(f"the verdict is over {MAX_BYTES} bytes")
