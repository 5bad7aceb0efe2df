"""Check an issue that was written from a brief, and add its status and log."""

from __future__ import annotations

from dataclasses import replace

from agentos.documents.brief import Brief
from agentos.documents.findings import (
    Category,
    Finding,
    Findings,
    Tier,
    quality_finding,
    without_repeats,
)
from agentos.documents.hazards import find_placeholders, find_secrets, is_unfilled
from agentos.documents.hints import compare, find_matches, hint, quote
from agentos.documents.issue import Issue, parse_issue
from agentos.documents.issue_draft import (
    IssueDraft,
    check_lost,
    find_cut,
    find_echo,
    read_draft,
)
from agentos.documents.ledger import Ledger
from agentos.documents.markdown import end_of_heading, scan, split_lines
from agentos.documents.review_log import append_log
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import normalize

MAX_BYTES = 400_000


def check_issue_spec(
    issue: Issue, brief: Brief, previous: Issue | None = None
) -> tuple[Finding, ...]:
    """Return the findings of the mechanical rules, the most severe first.

    Every finding names its line.
    """
    draft = read_draft(issue.text[:MAX_BYTES])
    if draft.inner is not None:
        issue = replace(parse_issue(draft.inner), text=issue.text)
    findings = [
        *_check_parts(issue, draft),
        *_compare_wishes(issue, brief, draft),
        *_check_hazards(issue, brief, draft),
        *_check_whole(draft, brief),
    ]
    if previous:
        before = read_draft(previous.text[:MAX_BYTES])
        findings += check_lost(draft, before)
    return without_repeats(findings)


def wish_coverage(issue: Issue, brief: Brief) -> tuple[CoverageRow, ...]:
    """Return each wish and constraint of the brief with what covers it in the issue."""
    demands = _demands(issue)
    names = list(demands)
    wishes = brief.wishes + brief.constraints
    rows = []
    matches = find_matches(wishes, tuple(demands.values()))
    for number, (wish, match) in enumerate(zip(wishes, matches, strict=True), 1):
        covering: tuple[str, ...] = ()
        if match is not None:
            covering = (names[match],)
        rows.append(CoverageRow(f"W{number}", wish, covering, bool(covering)))
    return tuple(rows)


def _demands(issue: Issue) -> dict[str, str]:
    """Return criteria and requirements by their short names."""
    found = {}
    for number, criterion in enumerate(issue.criteria, 1):
        found[f"AC{number}"] = criterion
    for number, requirement in enumerate(issue.requirements, 1):
        found[f"R{number}"] = requirement.text
    return found


def _check_parts(issue: Issue, draft: IssueDraft) -> Findings:
    parts = (
        ("title", issue.title, "a title"),
        ("user-story", issue.user_story, "a user story"),
        ("objective", issue.objective, "an objective"),
        ("requirements", issue.requirements, "requirements"),
        ("criteria", issue.has_criteria, "acceptance criteria"),
    )
    for id, value, name in parts:
        if not value:
            line = 1 if id == "title" else draft.last_line
            noun = id.replace("-", " ")
            yield quality_finding(
                f"no-{id}",
                name,
                line,
                f"the issue has no {noun}.",
            )
    if len(issue.text) > MAX_BYTES:
        line = issue.text.count("\n", 0, MAX_BYTES) + 1
        yield quality_finding(
            "size", "", line, f"the issue is over {MAX_BYTES} characters: split it."
        )


def _compare_wishes(issue: Issue, brief: Brief, draft: IssueDraft) -> Findings:
    wishes = brief.wishes + brief.constraints
    demands = tuple(_demands(issue).values())
    line = draft.line_of("requirements")
    answers = brief.questions
    for number, question in compare(wishes, demands, "brief", "issue", answers):
        yield hint(
            f"wish-W{number}",
            "Requirements",
            line,
            question,
        )


def _check_hazards(issue: Issue, brief: Brief, draft: IssueDraft) -> Findings:
    asked = brief.text.casefold()
    for line, word in find_placeholders(draft.lines):
        section = draft.section_of(line)[:80]
        # The id has no line number, because it must survive a revision that moves it.
        words = normalize(f"{section} {word}").split()
        name = "-".join(words) or "mark"
        if is_unfilled(word):
            text = f"the template's {word!r} was not filled in."
            yield quality_finding(
                f"unfilled-{name}",
                section,
                line,
                text,
            )
        elif word.casefold() not in asked:
            row = draft.text_of(line)
            text = f"{word!r} stands in {quote(row)}. Was something left open?"
            yield hint(f"placeholder-{name}", section, line, text)
    found = find_secrets(issue.text)
    if found:
        line = issue.text.count("\n", 0, found[0][0]) + 1
        text = (
            f"Line {line}: the issue contains something that looks like a credential."
        )
        yield Finding("secret", Tier.BLOCKING, Category.SECURITY, "", text)


def _check_whole(draft: IssueDraft, brief: Brief) -> Findings:
    cut = find_cut(draft)
    if cut:
        line, why = cut
        text = f"the issue is cut off: {why}."
        yield quality_finding("truncated", "", line, text)
    echo = find_echo(draft, brief.text)
    if echo:
        line, what = echo
        row = draft.text_of(line)
        yield hint("echo", "", line, f"{what}: {quote(row)}. Does it belong there?")


def finalize_issue(
    text: str, *, item: str, status: str, ledger: Ledger, provenance: str
) -> str:
    """Return the issue with its status, its review log and its provenance.

    The number of the brief and the status stand below the title.
    """
    rows = split_lines(text)
    head = end_of_heading(scan(text))
    if head:
        end = head
        while end < len(rows) and (not rows[end].strip() or _is_status(rows[end])):
            end += 1
        number = f"#{item}" if item.isdecimal() else item
        rows[head:end] = ["", f"**Brief:** {number}", f"**Status:** {status}", ""]
    return append_log(
        "\n".join(rows), status=status, ledger=ledger, provenance=provenance
    )


def _is_status(row: str) -> bool:
    return row.startswith(("**Status:**", "**Brief:**"))
