"""Check an issue that was written from a brief, and give it its final form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentos.documents.brief import Brief
from agentos.documents.findings import Category, Finding, Tier, without_repeats
from agentos.documents.hazards import find_placeholders, has_secret
from agentos.documents.issue import Issue
from agentos.documents.markdown import Kind, scan, split_lines
from agentos.documents.review_log import Review, append_log
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import WordIndex, keywords, share

MAX_BYTES = 400_000
_COVERED = 0.6
_FUZZY_LOOKUPS = 200


def check_issue_spec(issue: Issue, brief: Brief) -> tuple[Finding, ...]:
    """Return what the mechanical rules find in an issue, heaviest first; empty when all hold."""
    return without_repeats([*_check_parts(issue), *_check_wishes(issue, brief), *_check_hazards(issue)])


def wish_coverage(issue: Issue, brief: Brief) -> tuple[CoverageRow, ...]:
    """Return every wish and constraint of the brief with the criteria or requirements that take it up."""
    names = [f"AC{n}" for n in range(1, len(issue.criteria) + 1)]
    names += [f"R{n}" for n in range(1, len(issue.requirements) + 1)]
    texts = [*issue.criteria, *(requirement.text for requirement in issue.requirements)]
    index = WordIndex(texts)
    rows = []
    for number, wish in enumerate((*brief.wishes, *brief.constraints), 1):
        taken = index.exact(wish)
        if taken is None and number <= _FUZZY_LOOKUPS:
            nearest = index.nearest(wish)
            if nearest and share(keywords(wish), index.words[nearest[0]]) >= _COVERED:
                taken = nearest[0]
        rows.append(CoverageRow(f"W{number}", wish, (names[taken],) if taken is not None else (), taken is not None))
    return tuple(rows)


def _check_parts(issue: Issue) -> Iterator[Finding]:
    parts = (
        ("title", issue.title, "a title"),
        ("user-story", issue.user_story, "a user story"),
        ("objective", issue.objective, "an objective"),
        ("requirements", issue.requirements, "requirements"),
        ("criteria", issue.criteria, "acceptance criteria"),
    )
    for id, value, name in parts:
        if not value:
            yield _finding(f"no-{id}", name, f"The issue has no {name.split(' ', 1)[-1]}.")
    if len(issue.text) > MAX_BYTES:
        yield _finding("size", "", f"The issue is over {MAX_BYTES} characters: split it.")


def _check_wishes(issue: Issue, brief: Brief) -> Iterator[Finding]:
    for row in wish_coverage(issue, brief):
        if not row.covered:
            text = f"Nothing in the issue takes up this wish of the brief: {row.text[:160]}"
            yield _finding(f"wish-{row.requirement}", "Requirements", text)


def _check_hazards(issue: Issue) -> Iterator[Finding]:
    for line, word in find_placeholders(scan(issue.text)):
        yield _finding(f"placeholder-{line}", "", f"Line {line}: the placeholder {word!r} was left in.")
    if has_secret(issue.text):
        text = "The issue contains something that looks like a credential."
        yield Finding("secret", Tier.BLOCKING, Category.SECURITY, "", text)


def _finding(id: str, section: str, text: str) -> Finding:
    return Finding(id, Tier.HIGH, Category.QUALITY, section, text)


def finalise_issue(text: str, *, item: str, status: str, reviews: Sequence[Review], stamp: str) -> str:
    """Return the issue with its number, its status below the title, its review log and the closing stamp."""
    rows = split_lines(text)
    head = next((line for line in scan(text) if line.kind is Kind.HEADING), None)
    if head is not None:
        after = head.number
        while after < len(rows) and (not rows[after].strip() or _is_status(rows[after])):
            del rows[after]
        number = f"#{item}" if item.isdecimal() else item
        rows[after:after] = ["", f"**Brief:** {number}", f"**Status:** {status}", ""]
    return append_log("\n".join(rows), status=status, reviews=reviews, stamp=stamp)


def _is_status(row: str) -> bool:
    return row.startswith(("**Status:**", "**Brief:**"))
