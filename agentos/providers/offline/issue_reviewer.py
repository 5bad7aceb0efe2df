"""Review an issue against its brief, by rules, seeing nothing but the two texts."""

from __future__ import annotations

from collections.abc import Iterator

from agentos.documents.brief import Brief, parse_brief
from agentos.documents.clarity import vague_words
from agentos.documents.failures import FAILURE_STEMS, failure_paths
from agentos.documents.findings import Category, Finding, Tier, blocks_approval, without_repeats
from agentos.documents.issue import Issue, is_settled, parse_issue
from agentos.documents.issue_spec import check_issue_spec, wish_coverage
from agentos.documents.verdict import Decision, Verdict
from agentos.documents.words import WordIndex, code_spans, figures, keywords

_LONGEST_BRIEF = 300_000


def review_issue(brief_text: str, draft: str) -> Verdict:
    """Return the verdict of the rules on an issue."""
    if len(brief_text) > _LONGEST_BRIEF:
        question = f"The brief has {len(brief_text)} characters; into which smaller briefs shall it be split?"
        return Verdict(Decision.DISCUSS, "The brief is too long to be one issue.", questions=(question,))
    brief, issue = parse_brief(brief_text), parse_issue(draft)
    rows = wish_coverage(issue, brief)
    findings = without_repeats(
        [*check_issue_spec(issue, brief), *_check_failures(issue, brief), *_check_departures(issue, brief)]
    )
    questions = tuple(_questions(brief))
    if questions:
        decision = Decision.DISCUSS
    elif any(blocks_approval(finding) for finding in findings) or not all(row.covered for row in rows):
        decision = Decision.REVISE
    else:
        decision = Decision.APPROVED
    covered = sum(row.covered for row in rows)
    summary = (
        f"{covered} of {len(rows)} wishes and constraints taken up, {len(issue.criteria)} criteria, "
        f"{len(findings)} finding(s), {len(questions)} question(s). Reviewed by rules; no model was asked."
    )
    return Verdict(decision, summary, findings[:100], (), questions[:50], rows[:1000])


def _check_failures(issue: Issue, brief: Brief) -> Iterator[Finding]:
    """Ask for a failure scenario when the brief speaks of something that goes wrong."""
    speaks = brief.failures or any(keywords(text) & FAILURE_STEMS for text in (*brief.wishes, *brief.problem))
    if speaks and not failure_paths(issue):
        text = "The brief speaks of something that goes wrong, and no scenario of the issue says what a user then sees."
        yield Finding("failure-scenario", Tier.HIGH, Category.SAFETY, "UX Flow", text)


def _check_departures(issue: Issue, brief: Brief) -> Iterator[Finding]:
    """Compare the figures and names of each wish with those of the criterion that takes it up."""
    texts = [*issue.criteria, *(requirement.text for requirement in issue.requirements)]
    index = WordIndex(texts)
    for number, wish in enumerate((*brief.wishes, *brief.constraints)[:300], 1):
        nearest = index.nearest(wish)
        if nearest is None or nearest[1] < 0.4 or index.exact(wish) is not None:
            continue
        present = {round(figure.value, 6) for figure in figures(texts[nearest[0]])}
        lost = [figure.text for figure in figures(wish) if round(figure.value, 6) not in present]
        lost += [f"`{span}`" for span in code_spans(wish) if span not in texts[nearest[0]]]
        if lost:
            text = f'The issue departs from wish {number}: {", ".join(lost)} is not in "{texts[nearest[0]][:140]}".'
            yield Finding(f"differs-W{number}", Tier.HIGH, Category.QUALITY, "Acceptance Criteria", text)


def _questions(brief: Brief) -> Iterator[str]:
    for number, wish in enumerate(brief.wishes, 1):
        words = vague_words(wish)
        if words and not is_settled(wish[:140], brief.questions):
            yield f'Wish {number} ("{wish[:140]}") has no measure: how is {" and ".join(words)} told from its opposite?'
    for defect in brief.defects:
        yield f"The brief cannot be used: {defect}"
