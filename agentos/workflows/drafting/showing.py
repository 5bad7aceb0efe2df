"""Show the models what earlier rounds said: reasons to the writer, findings and changes
to the reviewer.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from agentos.documents.findings import Finding
from agentos.documents.judged_text import without_log
from agentos.documents.ledger import Ledger, LedgerEntry
from agentos.documents.verdict import Verdict, parse_verdict
from agentos.workflows.drafting.loop import findings_of, latest_review
from agentos.workflows.drafting.state import RoundState

_MOST_DIFF_LINES = 4_000
_CONTEXT = 2


def show_reasons(rounds: Sequence[RoundState], ledger: Ledger) -> str:
    """Return everything that the next draft has to resolve, and why; empty for a first
    draft.
    """
    parts = []
    if rounds and rounds[-1]["problems"]:
        rows = [_show_finding(finding) for finding in _problems(rounds[-1])]
        parts.append("\n".join(["Refused by a mechanical check:", *rows]))
    if ledger.reviews:
        last = ledger.reviews[-1]
        head = f"Review {last.number} ({last.decision}): {last.summary}"
        parts.append(head)
    if ledger.open:
        rows = ["Findings:"]
        for entry in ledger.open:
            rows += _show_entry(entry)
        parts.append("\n".join(rows))
    reviewed = latest_review(rounds)
    if reviewed is not None:
        parts += _show_rest(parse_verdict(reviewed["verdict"]))
    if ledger.source_errors:
        rows = ["Wrong in the source about the code; follow the reading:"]
        for error in ledger.source_errors:
            quote = error.quote
            rows.append(
                f'- "{error.sentence}": {quote.path}:{quote.line} `{quote.text.strip()}`;'
                f" reading: {error.reading}"
            )
        parts.append("\n".join(rows))
    if ledger.questions:
        rows = ["Asked of a person, not answered yet; leave these points as they are:"]
        rows += [f"- {question}" for question in ledger.questions]
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _problems(round: RoundState) -> Sequence[Finding]:
    unreviewed = RoundState(**{**round, "verdict": ""})
    return findings_of(unreviewed)


def _show_rest(verdict: Verdict) -> list[str]:
    """Return what a verdict says beside its findings."""
    parts = []
    uncovered = [row for row in verdict.coverage if not row.covered]
    if uncovered:
        rows = ["Requirements that no scenario would catch if they were missing:"]
        for row in uncovered:
            cited = ", ".join(row.scenarios) or "no scenario"
            rows.append(f"- {row.requirement} ({row.text}): {cited}")
        parts.append("\n".join(rows))
    if verdict.resolved_questions:
        rows = ["Questions that the reviewer settled; carry the answers in:"]
        for settled in verdict.resolved_questions:
            rows.append(f"- {settled.question} Answer: {settled.answer}")
        parts.append("\n".join(rows))
    return parts


def _show_finding(finding: Finding) -> str:
    place = f", section {finding.section}" if finding.section else ""
    return f"- {finding.id} ({finding.tier}{place}): {finding.text}"


def _show_entry(entry: LedgerEntry) -> list[str]:
    """Return a finding, the lines that it quotes, and what was said of it since."""
    rows = [_show_finding(entry.finding)]
    rows += [
        f"    {quote.path}:{quote.line} `{quote.text.strip()}`"
        for quote in entry.quotes
    ]
    if entry.basis not in ("text", "code"):
        rows.append(f"    basis: {entry.basis}")
    for change in entry.changes[1:]:
        reason = f": {change.reason}" if change.reason else ""
        rows.append(f"    {change.state} by the {_who(change.by)}{reason}")
    return rows


def _who(by: str) -> str:
    return "writer" if by == "writer" else "reviewer"


def show_earlier(ledger: Ledger, notes: Sequence[str]) -> str:
    """Return all findings with their states, for the reviewer; empty if there are
    none.
    """
    if not ledger.entries and not ledger.questions:
        return ""
    rows: list[str] = []
    settled = []
    for entry in ledger.entries:
        if entry.is_open:
            rows += _show_entry(entry)
        else:
            settled.append(f"{entry.id} {entry.state}")
    if rows:
        rows.insert(0, "State each of these in `earlier`:")
    if notes:
        rows.append("The writer says:")
        rows += [f"- {note}" for note in notes]
    if settled:
        listed = ", ".join(settled)
        rows.append(f"Settled before, their ids are taken: {listed}")
    if ledger.questions:
        rows.append(
            "Asked of a person already; they wait for an answer, whatever you decide:"
        )
        rows += [f"- {question}" for question in ledger.questions]
    return "\n".join(rows)


def show_changes(before: str, after: str) -> str:
    """Return what a revision changed, as a diff; empty if nothing was reviewed before."""
    if not before:
        return ""
    old = without_log(before).splitlines()
    new = without_log(after).splitlines()
    if max(len(old), len(new)) > _MOST_DIFF_LINES:
        return "The document is too long to be compared: read it whole."
    rows = difflib.unified_diff(
        old, new, "reviewed before", "now", lineterm="", n=_CONTEXT
    )
    return "\n".join(rows) or "Nothing was changed."


def show_hints(hints: Sequence[str]) -> str:
    """Return what the mechanical check asks the reviewer to look at."""
    return "\n".join(f"- {hint}" for hint in hints)
