"""Check an issue that was written from a brief, and give it its final form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentos.documents.brief import Brief
from agentos.documents.findings import Category, Finding, Tier, without_repeats
from agentos.documents.hazards import find_placeholders, find_secrets, is_soft
from agentos.documents.issue import Issue, parse_issue
from agentos.documents.issue_draft import IssueDraft, check_lost, find_cut, find_echo, read_draft
from agentos.documents.markdown import Kind, scan, split_lines
from agentos.documents.review_log import Review, append_log
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import WordIndex, keywords, normalise, share

MAX_BYTES = 400_000
_COVERED = 0.6
_FUZZY_LOOKUPS = 200


def check_issue_spec(issue: Issue, brief: Brief, previous: Issue | None = None) -> tuple[Finding, ...]:
    """Return what the mechanical rules find in an issue, heaviest first; empty when all hold.

    Every text names the line that it is about.
    """
    draft = read_draft(issue.text[:MAX_BYTES])
    if draft.inner is not None:
        issue = replace(parse_issue(draft.inner), text=issue.text)
    return without_repeats(
        [
            *_check_parts(issue, draft),
            *_check_wishes(issue, brief, draft),
            *_check_hazards(issue, brief, draft),
            *_check_whole(draft, brief),
            *(check_lost(draft, read_draft(previous.text[:MAX_BYTES])) if previous else ()),
        ]
    )


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


def _check_parts(issue: Issue, draft: IssueDraft) -> Iterator[Finding]:
    parts = (
        ("title", issue.title, "a title"),
        ("user-story", issue.user_story, "a user story"),
        ("objective", issue.objective, "an objective"),
        ("requirements", issue.requirements, "requirements"),
        ("criteria", issue.criteria, "acceptance criteria"),
    )
    for id, value, name in parts:
        if not value:
            line = 1 if id == "title" else draft.last_line
            yield _finding(f"no-{id}", name, line, f"the issue has no {name.split(' ', 1)[-1]}.")
    if len(issue.text) > MAX_BYTES:
        line = issue.text.count("\n", 0, MAX_BYTES) + 1
        yield _finding("size", "", line, f"the issue is over {MAX_BYTES} characters: split it.")


def _check_wishes(issue: Issue, brief: Brief, draft: IssueDraft) -> Iterator[Finding]:
    for row in wish_coverage(issue, brief):
        if not row.covered:
            text = f"nothing in the issue takes up this wish of the brief: {row.text[:160]}"
            yield _finding(f"wish-{row.requirement}", "Requirements", draft.line_of("requirements"), text)


def _check_hazards(issue: Issue, brief: Brief, draft: IssueDraft) -> Iterator[Finding]:
    for line, word in find_placeholders(draft.lines):
        if not (is_soft(word) and word in brief.text):
            section = draft.section_of(line)[:80]
            # Named by place and word, not by line: the id must outlive a revision that moves it.
            name = "-".join(normalise(f"{section} {word}").split())
            yield _finding(f"placeholder-{name or 'mark'}", section, line, f"the placeholder {word!r} was left in.")
    found = find_secrets(issue.text)
    if found:
        line = issue.text.count("\n", 0, found[0][0]) + 1
        text = f"Line {line}: the issue contains something that looks like a credential."
        yield Finding("secret", Tier.BLOCKING, Category.SECURITY, "", text)


def _check_whole(draft: IssueDraft, brief: Brief) -> Iterator[Finding]:
    cut = find_cut(draft)
    if cut:
        yield _finding("truncated", "", cut[0], f"the issue is cut off: {cut[1]}.")
    echo = find_echo(draft, brief.text)
    if echo:
        text = f"{echo[1]}; it is no part of the issue. End the document before this line."
        yield _finding("echo", "", echo[0], text)


def _finding(id: str, section: str, line: int, text: str) -> Finding:
    return Finding(id, Tier.HIGH, Category.QUALITY, section, f"Line {line}: {text}")


def finalise_issue(text: str, *, item: str, status: str, reviews: Sequence[Review], stamp: str) -> str:
    """Return the issue with its number, its status below the title, its review log and the closing stamp."""
    rows = split_lines(text)
    head = next((line for line in scan(text) if line.kind is Kind.HEADING), None)
    if head is not None:
        after = end = head.number
        while end < len(rows) and (not rows[end].strip() or _is_status(rows[end])):
            end += 1
        number = f"#{item}" if item.isdecimal() else item
        rows[after:end] = ["", f"**Brief:** {number}", f"**Status:** {status}", ""]
    return append_log("\n".join(rows), status=status, reviews=reviews, stamp=stamp)


def _is_status(row: str) -> bool:
    return row.startswith(("**Status:**", "**Brief:**"))
