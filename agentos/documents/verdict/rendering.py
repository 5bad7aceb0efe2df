"""Write a verdict as Markdown that people and `read_verdict` can read.

Each text is read back on one line with single spaces. Where a text looks like a mark of
the form, one character of it is written as a numeric character reference, which
Markdown shows as the character itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict.form import (
    BOXES,
    OTHER_DECISION,
    SIMPLE_ID,
    TIERS,
    Part,
    flat,
    says_nothing,
)
from agentos.documents.verdict.model import (
    CoverageRow,
    Decision,
    ResolvedQuestion,
    Verdict,
)

_NO_SUMMARY = "The reviewer gave no summary."


def render_verdict(verdict: Verdict, title: str) -> str:
    """Write a verdict as Markdown with exactly one box checked."""
    heading = f"# Review: {_escape(title)}"
    summary = _render_summary(verdict.summary)
    parts = [heading.rstrip(), _section(Part.SUMMARY, [summary])]
    if verdict.resolved_questions:
        resolved = map(_render_resolved, verdict.resolved_questions)
        parts.append(_section(Part.RESOLVED, resolved))
    if verdict.coverage:
        coverage = _render_coverage(verdict)
        parts.append(_section(Part.COVERAGE, coverage))
    for part, tier in TIERS.items():
        lines = _render_tier(tier, verdict.findings)
        parts.append(_section(part, lines))
    questions = _render_questions(verdict.questions)
    parts.append(_section(Part.QUESTIONS, questions))
    boxes = _render_boxes(verdict.decision)
    parts.append(_section(Part.VERDICT, boxes))
    return "\n\n".join(parts) + "\n"


def _section(part: Part, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f"## {part}\n\n{text}"


def _escape(text: str, *marks: str) -> str:
    """Write a text on one line, with these marks as character references."""
    line = flat(text)
    for mark in ("&#", "<!--", *marks):
        line = line.replace(mark, _escape_first(mark))
    return line


def _escape_first(text: str) -> str:
    return f"&#{ord(text[0])};{text[1:]}"


def _render_summary(summary: str) -> str:
    """Write the summary so that it looks like no other part of the form.

    It is the only text that begins a line.
    """
    line = _escape(summary) or _NO_SUMMARY
    first = line[0]
    if first != "&" and not first.isalnum():
        line = _escape_first(line)
    if line.endswith(":"):
        line = line.removesuffix(":")
        line += "&#58;"
    for word in OTHER_DECISION.findall(line):
        line = line.replace(word, _escape_first(word))
    return line


def _render_resolved(entry: ResolvedQuestion) -> str:
    question = _escape(entry.question, "**", "~~", "[")
    answer = _escape(entry.answer)
    return f"- [x] {question} **Resolved:** {answer}"


def _render_coverage(verdict: Verdict) -> Iterator[str]:
    yield "| # | Requirement | Scenarios | Status |"
    yield "|---|---|---|---|"
    covered = 0
    for row in verdict.coverage:
        covered += row.covered
        yield _render_row(row)
    total = len(verdict.coverage)
    share = int(100 * verdict.covered_share)
    yield ""
    yield f"**Coverage:** {covered} of {total} requirements = {share}%"


def _render_row(row: CoverageRow) -> str:
    names = map(_render_scenario, row.scenarios)
    scenarios = ", ".join(filter(None, names)) or "-"
    requirement = _escape(row.requirement, "|", "\\")
    text = _escape(row.text, "|", "\\")
    status = "NOT COVERED"
    if row.covered:
        status = "covered"
    return f"| {requirement} | {text} | {scenarios} | {status} |"


def _render_scenario(name: str) -> str:
    text = _escape(name, "|", "\\", ",")
    if text == "-":
        return _escape_first(text)
    return text


def _render_tier(tier: Tier, findings: Sequence[Finding]) -> Iterator[str]:
    is_empty = True
    for category in Category:
        title = f"### {category.capitalize()}\n"
        if not is_empty:
            title = f"\n{title}"
        for finding in findings:
            if finding.tier is not tier:
                continue
            if finding.category is not category:
                continue
            if title:
                yield title
                title = ""
            is_empty = False
            yield _render_finding(finding)
    if is_empty:
        yield "No issues found."


def _render_finding(finding: Finding) -> str:
    label = _escape(finding.id, "*", "]")
    if not SIMPLE_ID.fullmatch(label):
        label = f"[{label}]"
    label = f"**{label}**"
    section = _escape(finding.section, "(", ")")
    if section:
        label += f" ({section})"
    text = _escape(finding.text)
    return f"- {label}: {text}"


def _render_questions(questions: Iterable[str]) -> Iterator[str]:
    number = 0
    for question in questions:
        text = _escape(question)
        if not text:
            continue
        if says_nothing(text) or text.startswith("["):
            text = _escape_first(text)
        number += 1
        yield f"{number}. {text}"
    if number == 0:
        yield "None."


def _render_boxes(checked: Decision) -> Iterator[str]:
    for decision, meaning in BOXES.items():
        mark = " "
        if decision is checked:
            mark = "x"
        yield f"- [{mark}] **{decision}** - {meaning}"
