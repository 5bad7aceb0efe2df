"""Answer a request for a review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict import Decision, Verdict
from agentos.providers.offline.issue_reviewer import review_issue
from agentos.providers.offline.lld_reviewer import review_lld
from agentos.providers.offline.plan_reviewer import review_plan

_SCRIPT: tuple[tuple[Category, str, str], ...] = (
    (
        Category.OBSERVABILITY,
        "11",
        "Nothing says by which sign an operator notices that the change misbehaves; name the sign.",
    ),
    (Category.ARCHITECTURE, "2.7", "The order in which the files are changed is not stated; say which comes first."),
    (Category.QUALITY, "5.3", "It is not said who keeps the fixtures up to date when the format changes."),
    (Category.SAFETY, "7.2", "It is not said how the change is taken back once it has been in use for a week."),
    (Category.COST, "8", "No bound is given for what the new code may take of memory on the largest input."),
    (
        Category.SECURITY,
        "7.1",
        "Whose rights decide about the new call is left open; state the check and its place.",
    ),
    (Category.QUALITY, "10.1", "Scenarios run in an order that matters, yet nothing isolates one from another."),
    (Category.ARCHITECTURE, "2.4", "Two signatures return different shapes for an empty result; choose one."),
    (Category.LEGAL, "9", "How long personal names stay in logs, and who deletes them, is missing."),
    (Category.OBSERVABILITY, "8.1", "Durations are promised but never measured; record them where they are promised."),
    (Category.SAFETY, "2.5", "Step three writes before step two has validated; swap both or lock around them."),
    (Category.QUALITY, "12", "Documentation is listed as done without naming which page changes."),
)
"""As many as anybody will simulate rounds: one that comes back would be taken for a standstill."""


def write_review(purpose: str, inputs: Mapping[str, str]) -> Verdict:
    """Return the verdict for `lld.review`, `issue.review` or `implementation.review`."""
    if purpose == "implementation.review":
        return review_plan(inputs.get("design", ""))
    draft = inputs.get("draft", "")
    if purpose == "issue.review":
        return review_issue(inputs.get("brief", ""), draft)
    return review_lld(inputs.get("issue", ""), draft)


def script_revise(verdict: Verdict, round_number: int) -> Verdict:
    """Return the verdict as a scripted request for one more round, saying that it is scripted."""
    category, section, text = _SCRIPT[(round_number - 1) % len(_SCRIPT)]
    finding = Finding(f"scripted-{round_number}", Tier.HIGH, category, section, text)
    summary = f"Scripted round {round_number} of a simulation. {verdict.summary}"
    return replace(verdict, decision=Decision.REVISE, summary=summary, findings=(finding, *verdict.findings))


def script_discuss(verdict: Verdict) -> Verdict:
    """Return the verdict as a scripted request for a person's decision."""
    question = "Scripted by a simulation: shall this item be built at all?"
    summary = f"Scripted discussion of a simulation. {verdict.summary}"
    questions = (*verdict.questions, question)
    return replace(verdict, decision=Decision.DISCUSS, summary=summary, questions=questions)
