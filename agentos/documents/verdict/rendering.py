"""Write a verdict as Markdown that a person reads and `read_verdict` reads back.

What is read back is the verdict in its settled form: every text on one line with single spaces, findings in the
order of tiers and categories, ids that are unique, no empty question and no unnamed scenario. A text that could be
taken for a mark of its place (a second `**Resolved:**`, a comma in a scenario's name, a line that looks like a
verdict) is written with a numeric character reference, which Markdown shows as the character itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict.contents import NO_SUMMARY
from agentos.documents.verdict.contradictions import speaks_against
from agentos.documents.verdict.decisions import read_decision
from agentos.documents.verdict.issues import SIMPLE_ID, number_findings
from agentos.documents.verdict.marks import bare, escape, escape_first, flat, strip_marker
from agentos.documents.verdict.model import CoverageRow, Decision, ResolvedQuestion, Verdict
from agentos.documents.verdict.nothing import says_nothing
from agentos.documents.verdict.parts import standing_title
from agentos.documents.verdict.titles import Role, read_title, verdict_label, words_of

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


def settle(verdict: Verdict) -> Verdict:
    """Return the verdict in the form that comes back from its Markdown."""
    ordered = [
        replace(finding, id=flat(finding.id), section=flat(finding.section), text=flat(finding.text))
        for tier in Tier
        for category in _categories(tier)
        for finding in verdict.findings
        if finding.tier is tier and finding.category is category
    ]
    return Verdict(
        verdict.decision,
        flat(verdict.summary) or NO_SUMMARY,
        number_findings(ordered),
        tuple(ResolvedQuestion(flat(one.question), flat(one.answer)) for one in verdict.resolved_questions),
        tuple(text for question in verdict.questions if (text := flat(question))),
        tuple(
            CoverageRow(
                flat(row.requirement),
                flat(row.text),
                tuple(text for name in row.scenarios if (text := flat(name))),
                row.covered,
            )
            for row in verdict.coverage
        ),
    )


def render_verdict(verdict: Verdict, title: str) -> str:
    """Write a verdict as Markdown with exactly one box checked."""
    settled = settle(verdict)
    parts = [f"# Review: {escape(flat(title))}".rstrip(), f"## Summary\n\n{_render_line(settled.summary)}"]
    if settled.resolved_questions:
        rows = [_render_resolved(question) for question in settled.resolved_questions]
        parts.append("## Open questions resolved\n\n" + "\n".join(rows))
    if settled.coverage:
        parts.append(_render_coverage(settled))
    parts.extend(_render_tier(tier, settled.findings) for tier in Tier)
    asked = [f"{number}. {_render_line(question)}" for number, question in enumerate(settled.questions, 1)]
    parts.append("## Questions for a person\n\n" + ("\n".join(asked) or "None."))
    boxes = (
        f"- [{'x' if decision is settled.decision else ' '}] **{decision}** - {meaning}"
        for decision, meaning in _BOXES.items()
    )
    parts.append("## Verdict\n\n" + "\n".join(boxes))
    return "\n\n".join(parts) + "\n"


def _render_line(text: str) -> str:
    """Write a text so that its line begins nothing but a sentence."""
    escaped = escape(text)
    return escaped if _is_plain(escaped) else escape_first(text)


def _is_plain(text: str) -> bool:
    if not text[:1].isalnum() or strip_marker(f"{text} ")[1] or says_nothing(text):
        return False
    if speaks_against(text):
        return False
    title = read_title(text)
    is_title = title.role in (Role.VERDICT, Role.FINDINGS) or standing_title(text, Role.SUMMARY) is not None
    starts_label = any(verdict_label(words_of(" ".join(text.split()[:size]))) for size in range(1, 7))
    return not is_title and not starts_label and read_decision(bare(text)) is None


def _render_resolved(question: ResolvedQuestion) -> str:
    write = escape_first if question.question[:1] in ("~", "[") else escape
    asked = write(question.question, "**Resolved:**")
    return f"- [x] {asked} **Resolved:** {escape(question.answer)}".rstrip()


def _render_coverage(verdict: Verdict) -> str:
    covered = sum(row.covered for row in verdict.coverage)
    rule = "|---|---|---|---|"
    rows = ["| # | Requirement | Scenarios | Status |", rule, *map(_render_row, verdict.coverage)]
    share = int(100 * verdict.covered_share)
    return (
        "## Requirement coverage\n\n"
        + "\n".join(rows)
        + (f"\n\n**Coverage:** {covered} of {len(verdict.coverage)} requirements = {share}%")
    )


def _render_row(row: CoverageRow) -> str:
    names = [_render_name(name) for name in row.scenarios]
    cells = (
        escape(row.requirement, "|", "\\"),
        escape(row.text, "|", "\\"),
        ", ".join(names) or "-",
        "covered" if row.covered else "NOT COVERED",
    )
    return "| " + " | ".join(cells) + " |"


def _render_name(name: str) -> str:
    marks = ("|", ",", "<br>", "\\")
    escaped = escape(name, *marks)
    return escape_first(name, *marks) if says_nothing(name) or says_nothing(escaped) else escaped


def _categories(tier: Tier) -> tuple[Category, ...]:
    usual = _TIER_CATEGORIES[tier]
    return (*usual, *(category for category in Category if category not in usual))


def _render_tier(tier: Tier, findings: Iterable[Finding]) -> str:
    mine = [finding for finding in findings if finding.tier is tier]
    lines = [f"## {_TIER_TITLES[tier]}", ""]
    if not mine:
        return "\n".join([*lines, "No issues found."])
    for category in _categories(tier):
        listed = [_render_finding(finding) for finding in mine if finding.category is category]
        if listed:
            lines += [f"### {category.capitalize()}", "", *listed, ""]
    return "\n".join(lines).rstrip()


def _render_finding(finding: Finding) -> str:
    write = escape_first if len(finding.id) == 1 else escape
    name = finding.id if SIMPLE_ID.fullmatch(finding.id) else f"[{write(finding.id, '*', '[', ']')}]"
    section = escape(finding.section)
    if section and not _is_bracketed(section):
        section = escape(finding.section, "(", ")")
    where = f" ({section})" if section else ""
    return f"- **{name}**{where}: {escape(finding.text)}".rstrip()


def _is_bracketed(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
