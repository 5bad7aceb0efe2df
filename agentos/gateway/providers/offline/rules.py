"""Draft and review documents by rules: fill a template, check a structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentos.documents.brief import Brief, parse_brief
from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.issue import (
    FileChange,
    Issue,
    Note,
    Question,
    parse_issue,
)
from agentos.documents.issue_spec import check_issue_spec, wish_coverage
from agentos.documents.lld import check_lld, check_plan, coverage, parse_lld
from agentos.documents.markdown import split_lines
from agentos.documents.tables import render_row
from agentos.documents.verdict import CoverageRow, Decision, Verdict
from agentos.gateway.providers.offline.filling import (
    GAP,
    MOST_ENTRIES,
    bullet,
    enumerate_texts,
    fill_template,
    quote,
    quote_all,
)
from agentos.state.wording import count

MOST_FINDINGS = 100
MOST_ROWS = 1_000
NOTICE = (
    "A skeleton: rules filled the template from the {source}'s own words, no language"
    f" model was asked. `{GAP} ...]` marks what is missing."
)
_QUESTIONS = "### Open Questions\n"
_NOT_IN_ISSUE = f"{GAP} not in the issue]"
_NOT_IN_BRIEF = f"{GAP} not in the brief]"
_ABOUT_COVERAGE = ("uncovered-", "unknown-requirement-", "hint-uncovered-")


def write_draft(purpose: str, inputs: Mapping[str, str]) -> str:
    """Return a draft: the template, filled as far as rules know its kind."""
    previous = inputs.get("previous_draft", "")
    if previous.strip():
        text = inputs.get("findings", "")
        findings = read_findings(text)
        return _add_findings(previous, findings)
    item = inputs.get("item", "")
    template = inputs.get("template", "")
    if purpose == "issue.draft":
        text = inputs.get("brief", "")
        brief = parse_brief(text)
        return fill_issue(item, brief, template)
    if purpose != "lld.draft":
        return fill_other(item, template)
    text = inputs.get("issue", "")
    issue = parse_issue(text)
    return fill_lld(item, issue, template)


def fill_other(item: str, template: str) -> str:
    """Return the template of another kind, of which rules know only the gaps."""
    notice = NOTICE.format(source="input")
    return fill_template(
        template,
        item,
        notice,
        {},
        {},
    )


def fill_lld(item: str, issue: Issue, template: str) -> str:
    """Return the design template filled from an issue."""
    demands = [*issue.criteria, *_texts(issue.requirements)]
    done = _texts(issue.definition_of_done)
    tested = _texts(issue.testing_notes)
    words = {
        "open questions": _say_questions(issue.open_questions),
        "proposed changes": _say_scope(issue),
        "files changed": _say_files(issue.files),
        "logic flow": _say_scenarios(issue),
        "technical approach": bullet(issue.technical_approach),
        "requirements": enumerate_texts(demands),
        "security": _say_rows(issue.security, columns=3),
        "verification & testing": bullet(tested),
        "risks & mitigations": _say_rows(issue.risks, columns=4),
        "definition of done": bullet(done, mark="- [ ]"),
    }
    labels = {
        "issue": _number(item),
        "objective": quote(issue.objective or issue.user_story),
        "related issues": "; ".join(quote_all(issue.dependencies)),
    }
    name = quote(issue.title) or _NOT_IN_ISSUE
    title = f"{item} - {name}"
    notice = NOTICE.format(source="issue")
    return fill_template(template, title, notice, words, labels)


def fill_issue(item: str, brief: Brief, template: str) -> str:
    """Return the issue template filled from a brief."""
    told = quote_all(brief.problem)
    stories = []
    for text in told:
        folded = text.casefold()
        if folded.startswith("as a"):
            stories.append(text)
    wishes = [*brief.wishes, *brief.constraints]
    words = {
        "user story": stories[:1],
        "objective": told[:MOST_ENTRIES],
        "ux flow": bullet(brief.failures),
        "requirements": enumerate_texts(wishes),
    }
    number = _number(item)
    name = quote(brief.title) or _NOT_IN_BRIEF
    title = f"Issue {number}: {name}"
    notice = NOTICE.format(source="brief")
    text = fill_template(template, title, notice, words, {})
    asked = _say_questions(brief.questions)
    if not asked:
        return text
    return "\n".join([text, "## Open Questions", *asked, ""])


def _texts(notes: Sequence[Note]) -> list[str]:
    return [note.text for note in notes]


def _number(item: str) -> str:
    return f"#{item}" if item.isdecimal() else item


def _say_questions(questions: Sequence[Question]) -> list[str]:
    open_ones = []
    settled = []
    for question in questions:
        if question.answer:
            text = quote(question.text)
            answer = quote(question.answer)
            settled.append(f"- [x] {text} **Answer: {answer}**")
        else:
            open_ones.append(question.text)
    return [*bullet(open_ones, mark="- [ ]"), *settled]


def _say_scope(issue: Issue) -> list[str]:
    rows = bullet(issue.out_of_scope)
    if not rows:
        return []
    return ["Out of scope according to the issue:", "", *rows, ""]


def _say_scenarios(issue: Issue) -> list[str]:
    """Quote the issue's scenarios."""
    rows: list[str] = []
    for scenario in issue.scenarios[:MOST_ENTRIES]:
        title = quote(scenario.title)
        rows.append(f"The issue's scenario: {title}")
        rows.append("")
        rows += enumerate_texts(scenario.steps)
        rows.append("")
    return rows


def _say_files(files: Sequence[FileChange]) -> list[str]:
    rows = []
    for file in files[:MOST_ENTRIES]:
        path = quote(file.path)
        what = quote(file.description) or _NOT_IN_ISSUE
        row = render_row([f"`{path}`", file.change, what])
        rows.append(row)
    return rows


def _say_rows(texts: Sequence[str], columns: int) -> list[str]:
    """Return a table row for each text, with gaps in its other columns."""
    gaps = [_NOT_IN_ISSUE] * (columns - 1)
    quoted = quote_all(texts)
    return [render_row([text, *gaps]) for text in quoted[:MOST_ENTRIES]]


def _add_findings(previous: str, findings: Sequence[str]) -> str:
    """Return a draft with the findings as open questions, since rules answer none."""
    bullets = bullet(findings, mark="- [ ]")
    asked = "\n".join(bullets)
    before, found, after = previous.partition(_QUESTIONS)
    if found:
        return f"{before}{found}{asked}\n{after}"
    return f"{previous.rstrip()}\n\n## Open Questions\n{asked}\n"


def read_findings(text: str) -> list[str]:
    """Return the findings that the writer is shown, one line each."""
    return [row.removeprefix("- ") for row in split_lines(text) if row.startswith("- ")]


def write_review(purpose: str, inputs: Mapping[str, str]) -> Verdict:
    """Return what rules can prove about a draft or a test plan."""
    if purpose == "implementation.review":
        design = inputs.get("design", "")
        plan = parse_lld(design)
        rows = coverage(plan)
        return _report(check_plan(plan), rows)
    draft = inputs.get("draft", "")
    if purpose == "issue.review":
        text = inputs.get("brief", "")
        brief = parse_brief(text)
        written = parse_issue(draft)
        findings = check_issue_spec(written, brief)
        rows = wish_coverage(written, brief)
        return _report(findings, rows)
    if purpose != "lld.review":
        return _report((), ())
    lld = parse_lld(draft)
    text = inputs.get("issue", "")
    issue = parse_issue(text)
    findings = check_lld(lld, issue, None)
    rows = coverage(lld)
    if rows and not any(row.covered for row in rows):
        findings = _say_untested(findings, len(rows))
    return _report(findings, rows)


def _say_untested(
    findings: Sequence[Finding], requirements: int
) -> tuple[Finding, ...]:
    """Report in a single finding that nothing is tested, instead of one for each
    requirement.
    """
    text = f"No scenario tests any of the {count(requirements, 'requirement')}."
    untested = Finding(
        "uncovered",
        Tier.HIGH,
        Category.QUALITY,
        "10.1",
        text,
    )
    others = [one for one in findings if not one.id.startswith(_ABOUT_COVERAGE)]
    return untested, *others


def _report(findings: Sequence[Finding], rows: Sequence[CoverageRow]) -> Verdict:
    """Return a verdict that approves nothing: without a finding, a person decides."""
    covered = sum(row.covered for row in rows)
    found = count(len(findings), "finding")
    demands = count(len(rows), "requirement")
    decision = Decision.REVISE
    questions: tuple[str, ...] = ()
    if not any(map(blocks_approval, findings)):
        decision = Decision.DISCUSS
        questions = ("The rules found no problem. Is the document right?",)
    return Verdict(
        decision,
        f"{found}, {covered} of {demands} covered. Checked by rules, which approve"
        " nothing.",
        tuple(findings[:MOST_FINDINGS]),
        questions=questions,
        coverage=tuple(rows[:MOST_ROWS]),
    )
