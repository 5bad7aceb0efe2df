"""Check an issue that was written from a brief, and add its status and log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentos.documents.brief import Brief
from agentos.documents.findings import (
    Category,
    Finding,
    Tier,
    quality_finding,
    without_repeats,
)
from agentos.documents.hazards import find_placeholders, find_secrets, is_soft
from agentos.documents.issue import Issue, parse_issue
from agentos.documents.issue_draft import (
    IssueDraft,
    check_lost,
    find_cut,
    find_echo,
    read_draft,
)
from agentos.documents.markdown import end_of_heading, scan, split_lines
from agentos.documents.review_log import Review, append_log
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import WordIndex, keywords, normalize, share

MAX_BYTES = 400_000
_MIN_SHARED = 0.6
_MAX_FUZZY_LOOKUPS = 200


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
        *_check_wishes(issue, brief, draft),
        *_check_hazards(issue, brief, draft),
        *_check_whole(draft, brief),
    ]
    if previous:
        before = read_draft(previous.text[:MAX_BYTES])
        findings += check_lost(draft, before)
    return without_repeats(findings)


def wish_coverage(issue: Issue, brief: Brief) -> tuple[CoverageRow, ...]:
    """Return each wish and constraint of the brief with what covers it in the issue."""
    names = []
    texts = []
    for number, criterion in enumerate(issue.criteria, 1):
        names.append(f"AC{number}")
        texts.append(criterion)
    for number, requirement in enumerate(issue.requirements, 1):
        names.append(f"R{number}")
        texts.append(requirement.text)
    index = WordIndex(texts)
    wishes = brief.wishes + brief.constraints
    rows = []
    for number, wish in enumerate(wishes, 1):
        found = index.exact(wish)
        if found is None and number <= _MAX_FUZZY_LOOKUPS:
            found = _find_similar(index, wish)
        covering: tuple[str, ...] = ()
        if found is not None:
            covering = (names[found],)
        rows.append(CoverageRow(f"W{number}", wish, covering, bool(covering)))
    return tuple(rows)


def _find_similar(index: WordIndex, wish: str) -> int | None:
    nearest = index.nearest(wish)
    if not nearest:
        return None
    found = nearest[0]
    shared = share(keywords(wish), index.words[found])
    return found if shared >= _MIN_SHARED else None


def _check_parts(issue: Issue, draft: IssueDraft) -> Iterator[Finding]:
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
            yield quality_finding(f"no-{id}", name, line, f"the issue has no {noun}.")
    if len(issue.text) > MAX_BYTES:
        line = issue.text.count("\n", 0, MAX_BYTES) + 1
        yield quality_finding(
            "size", "", line, f"the issue is over {MAX_BYTES} characters: split it."
        )


def _check_wishes(issue: Issue, brief: Brief, draft: IssueDraft) -> Iterator[Finding]:
    for row in wish_coverage(issue, brief):
        if not row.covered:
            wish = row.text[:160]
            text = f"nothing in the issue covers this wish of the brief: {wish}"
            yield quality_finding(
                f"wish-{row.requirement}",
                "Requirements",
                draft.line_of("requirements"),
                text,
            )


def _check_hazards(issue: Issue, brief: Brief, draft: IssueDraft) -> Iterator[Finding]:
    for line, word in find_placeholders(draft.lines):
        if is_soft(word) and word in brief.text:
            continue
        section = draft.section_of(line)[:80]
        # The id has no line number, because it must survive a revision that moves it.
        words = normalize(f"{section} {word}").split()
        name = "-".join(words) or "mark"
        yield quality_finding(
            f"placeholder-{name}",
            section,
            line,
            f"the placeholder {word!r} was left in.",
        )
    found = find_secrets(issue.text)
    if found:
        line = issue.text.count("\n", 0, found[0][0]) + 1
        text = (
            f"Line {line}: the issue contains something that looks like a credential."
        )
        yield Finding("secret", Tier.BLOCKING, Category.SECURITY, "", text)


def _check_whole(draft: IssueDraft, brief: Brief) -> Iterator[Finding]:
    cut = find_cut(draft)
    if cut:
        yield quality_finding(
            "truncated", "", cut[0], f"the issue is cut off: {cut[1]}."
        )
    echo = find_echo(draft, brief.text)
    if echo:
        text = (
            f"{echo[1]}; it is no part of the issue. End the document before this line."
        )
        yield quality_finding("echo", "", echo[0], text)


def finalize_issue(
    text: str, *, item: str, status: str, reviews: Sequence[Review], provenance: str
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
        "\n".join(rows), status=status, reviews=reviews, provenance=provenance
    )


def _is_status(row: str) -> bool:
    return row.startswith(("**Status:**", "**Brief:**"))
