"""The rules of the drafting loop: which findings are open, and when the loop ends
(pure).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.provenance import RULES, SCRIPTED, SIMULATED
from agentos.documents.tracking import Tracked, change_detector, find_standstill, track
from agentos.documents.verdict import Decision, Verdict, parse_verdict
from agentos.item import Failure, State
from agentos.state.wording import count
from agentos.workflows.drafting.state import RoundState

Rounds = Sequence[RoundState]
Findings = tuple[Finding, ...]
LONGEST_LINE = 300
LOSSES = ("lost-", "shrunk")
"""Prefixes of the ids of findings about content that a revision lost."""


@dataclass(frozen=True, slots=True)
class LoopEnding:
    """The decision, a state of the item or `review-stall`, and the reason; both empty
    while the loop goes on.
    """

    decision: str = ""
    message: str = ""


def findings_of(round: RoundState) -> Findings:
    """Return the findings of a round's review, or of its mechanical check if it was not
    reviewed.
    """
    if round["verdict"]:
        return parse_verdict(round["verdict"]).findings
    findings = []
    for problem in round["problems"]:
        finding = Finding(
            problem["id"],
            Tier(problem["tier"]),
            Category(problem["category"]),
            problem["section"],
            problem["text"],
        )
        findings.append(finding)
    return tuple(findings)


def latest_review(rounds: Rounds) -> RoundState | None:
    """Return the last round that was reviewed."""
    for round in reversed(rounds):
        if round["verdict"]:
            return round
    return None


def basis_of(rounds: Rounds) -> RoundState | None:
    """Return the round that the next draft revises: the last one that lost nothing.

    If a draft that was refused for a loss were the basis, the same loss would pass the
    next time.
    """
    for round in reversed(rounds):
        for problem in round["problems"]:
            if problem["id"].startswith(LOSSES):
                break
        else:
            return round
    return None


def open_findings(rounds: Rounds) -> Findings:
    """Return the findings that the next draft has to resolve: those of the last draft
    and those of the last review.
    """
    if not rounds:
        return ()
    last = rounds[-1]
    findings = findings_of(last)
    reviewed = latest_review(rounds)
    if reviewed is not None and reviewed is not last:
        findings += findings_of(reviewed)
    return findings


def deciding_round(rounds: Rounds, decision: str) -> RoundState | None:
    """Return the round whose findings are reported: the one that decided, or else the
    best one.
    """
    if decision == State.SKELETON:
        # The document marks its own gaps, and its review log lists them.
        return None
    if decision in (State.APPROVED, State.NEEDS_DISCUSSION):
        return rounds[-1]
    return best_round(rounds)


def follow(verdict: Verdict, earlier: Rounds, draft: str) -> Tracked:
    """Give the findings of a review stable ids, and the earlier findings their new
    status.
    """
    last = latest_review(earlier)
    previous = ""
    if last is not None:
        previous = last["draft"]
    is_changed = change_detector(previous, draft)
    history = _reviewed_findings(earlier)
    return track(verdict.findings, history, is_changed)


def _reviewed_findings(rounds: Rounds) -> list[Findings]:
    return [findings_of(round) for round in rounds if round["verdict"]]


def end_of_validation(rounds: Rounds, max_rounds: int) -> LoopEnding:
    """Decide whether the loop ends after the mechanical check: at the last round, for a
    repeated draft, or without progress.
    """
    *earlier, current = rounds
    number = len(rounds)
    problems = current["problems"]
    if problems and number >= max_rounds:
        found = count(len(problems), "finding")
        first = problems[0]["text"]
        message = f"{found} of the mechanical check still open, first: {first}"
        return LoopEnding(State.NEEDS_REVISION, message)
    for other, round in enumerate(earlier, start=1):
        if round["draft"] == current["draft"]:
            # A drafter that repeats a text would repeat it again, at the same price.
            reason = f"draft {number} repeats draft {other}"
            if problems:
                reason += f"; still open: {problems[0]['text']}"
                if len(problems) > 1:
                    reason += f" (and {len(problems) - 1} more)"
            return _stalled(reason)
    unreviewed: list[Findings] = []
    for round in rounds:
        if round["verdict"]:
            unreviewed.clear()
        else:
            unreviewed.append(findings_of(round))
    standstill = find_standstill(unreviewed)
    if not problems or not standstill:
        return LoopEnding()
    return _stalled(f"mechanical check: {standstill}")


def end_of_review(verdict: Verdict, rounds: Rounds, max_rounds: int) -> LoopEnding:
    """Decide whether the loop ends after a review."""
    without_model = _end_without_model(verdict, rounds[-1])
    if without_model is not None:
        return without_model
    match verdict.decision:
        case Decision.APPROVED:
            return LoopEnding(State.APPROVED, verdict.summary)
        case Decision.DISCUSS:
            question = verdict.summary
            if verdict.questions:
                question = verdict.questions[0]
            return LoopEnding(State.NEEDS_DISCUSSION, question)
    if len(rounds) >= max_rounds:
        reason = verdict.summary
        for finding in verdict.findings:
            if blocks_approval(finding):
                reason = finding.text
                break
        taken = count(len(rounds), "round")
        message = f"not approved in {taken}: {reason}"
        return LoopEnding(State.NEEDS_REVISION, message)
    history = _reviewed_findings(rounds)
    standstill = find_standstill(history)
    if standstill:
        return _stalled(standstill)
    return LoopEnding()


def _end_without_model(verdict: Verdict, current: RoundState) -> LoopEnding | None:
    """Decide if rules or a simulation took part; None if a model's verdict counts.

    Rules only fill and check a template: their result is a skeleton, and they approve
    nothing.
    """
    reviewer = current["reviewer"]
    if reviewer == SIMULATED:
        return LoopEnding(State.SIMULATED, verdict.summary)
    if current["drafter"] == RULES and reviewer != SCRIPTED:
        gaps = count(len(verdict.findings), "finding")
        message = f"{gaps} in its review log, no model was asked"
        return LoopEnding(State.SKELETON, message)
    if reviewer == RULES:
        message = (
            "only rules have checked it, and rules approve nothing; name a model with"
            " --reviewer"
        )
        return LoopEnding(State.NEEDS_REVISION, message)
    return None


def _stalled(reason: str) -> LoopEnding:
    message = f"the review makes no progress: {reason}"
    return LoopEnding(Failure.REVIEW_STALL, message)


def best_round(rounds: Rounds) -> RoundState | None:
    """Return the round with the fewest blocking findings, reviewed rounds first; the
    last of equals.
    """

    def rank(round: RoundState) -> tuple[bool, int]:
        findings = findings_of(round)
        blocking = sum(map(blocks_approval, findings))
        is_unreviewed = not round["verdict"]
        return is_unreviewed, blocking

    return min(reversed(rounds), key=rank, default=None)


def say_finding(finding: Finding) -> str:
    """Return a finding as one line for reports."""
    where = str(finding.tier)
    if finding.section:
        where += f", {finding.section}"
    text = f"{finding.id} ({where}): {finding.text}"
    line = " ".join(text.split())
    if len(line) <= LONGEST_LINE:
        return line
    return line[: LONGEST_LINE - 1] + "…"
