"""The rules of the drafting loop: when it ends, and how (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.ledger import Ledger, ReviewRecord
from agentos.documents.provenance import RULES, SCRIPTED, SIMULATED
from agentos.documents.tracking import find_standstill
from agentos.documents.verdict import Decision, parse_verdict
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


def latest_verdict(rounds: Rounds) -> str:
    """Return the last verdict on a draft or on its test plan; empty if there is none."""
    for round in reversed(rounds):
        stored = round.get("plan") or round["verdict"]
        if stored:
            return stored
    return ""


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


def deciding_round(rounds: Rounds, decision: str) -> RoundState | None:
    """Return the round whose draft is kept: the one that decided, or else the best
    one.
    """
    if decision == State.SKELETON:
        # The document marks its own gaps, and its review log lists them.
        return None
    if decision in (State.APPROVED, State.NEEDS_DISCUSSION):
        return rounds[-1]
    return best_round(rounds)


def end_of_validation(rounds: Rounds, max_rounds: int) -> LoopEnding:
    """Decide whether the loop ends after the mechanical check: at the last round, for a
    repeated draft, or without progress.
    """
    current = rounds[-1]
    problems = current["problems"]
    if problems and len(rounds) >= max_rounds:
        found = count(len(problems), "finding")
        first = problems[0]["text"]
        message = f"{found} of the mechanical check still open, first: {first}"
        return LoopEnding(State.NEEDS_REVISION, message)
    repetition = _find_repetition(rounds)
    if repetition:
        # A drafter that repeats a text would repeat it again, at the same price.
        return _stalled(repetition)
    if not problems:
        return LoopEnding()
    unreviewed = _open_since_review(rounds)
    standstill = find_standstill(unreviewed)
    if not standstill:
        return LoopEnding()
    return _stalled(f"mechanical check: {standstill}")


def _find_repetition(rounds: Rounds) -> str:
    """Return which draft the last one repeats, and what is open; empty if none."""
    *earlier, current = rounds
    if _may_repeat(current):
        return ""
    drafts = [round["draft"] for round in earlier]
    draft = current["draft"]
    if draft not in drafts:
        return ""
    number = len(rounds)
    other = drafts.index(draft) + 1
    reason = f"draft {number} repeats draft {other}"
    problems = current["problems"]
    if not problems:
        return reason
    first = problems[0]["text"]
    reason += f"; still open: {first}"
    more = len(problems) - 1
    if more:
        reason += f" (and {more} more)"
    return reason


def _may_repeat(round: RoundState) -> bool:
    """Tell whether a text may stay as it is, because its writer contests findings."""
    if round["problems"]:
        return False
    contests = round.get("contests", 0)
    return contests > 0


def _open_since_review(rounds: Rounds) -> list[set[str]]:
    """Return what the mechanical check found in each round since the last review."""
    found: list[set[str]] = []
    for round in rounds:
        if round["verdict"]:
            found.clear()
            continue
        ids = _blocking_ids(findings_of(round))
        found.append(ids)
    return found


def end_of_review(
    review: ReviewRecord, rounds: Rounds, ledger: Ledger, max_rounds: int
) -> LoopEnding:
    """Decide whether the loop ends after a review."""
    current = rounds[-1]
    without_model = _end_without_model(review, current)
    if without_model is not None:
        return without_model
    questions = ledger.questions
    if review.decision is Decision.APPROVED:
        if questions:
            return LoopEnding(State.NEEDS_DISCUSSION, questions[0])
        return LoopEnding(State.APPROVED, review.summary)
    if review.decision is Decision.DISCUSS:
        question = review.summary
        if questions:
            question = questions[0]
        return LoopEnding(State.NEEDS_DISCUSSION, question)
    if len(rounds) >= max_rounds:
        if questions:
            return LoopEnding(State.NEEDS_DISCUSSION, questions[0])
        reason = _first_obstacle(review, ledger)
        taken = count(len(rounds), "round")
        message = f"not approved in {taken}: {reason}"
        return LoopEnding(State.NEEDS_REVISION, message)
    reviewed = _open_after_reviews(rounds)
    standstill = find_standstill(reviewed)
    if not standstill:
        return LoopEnding()
    if questions:
        return LoopEnding(State.NEEDS_DISCUSSION, questions[0])
    return _stalled(standstill)


def _first_obstacle(review: ReviewRecord, ledger: Ledger) -> str:
    """Return the first finding that holds up an approval, else the review's summary."""
    for entry in ledger.open:
        if blocks_approval(entry.finding):
            return entry.text
    return review.summary


def end_of_repetition(review: ReviewRecord) -> LoopEnding:
    """Return the end for a draft that repeats a text which a review has sent back."""
    return _stalled(f"the draft repeats the text of review {review.number}")


def _open_after_reviews(rounds: Rounds) -> list[set[str]]:
    """Return what held up an approval after each review."""
    found = []
    for round in rounds:
        if round["verdict"]:
            ids = _open_ids(round)
            found.append(ids)
    return found


def _open_ids(round: RoundState) -> set[str]:
    """Return what held up an approval after a round."""
    open_ids = round.get("open")
    # Without a review, and in a checkpoint of an earlier version, a round has only its
    # findings.
    if open_ids is None or not round["verdict"]:
        findings = findings_of(round)
        return _blocking_ids(findings)
    return set(open_ids)


def _blocking_ids(findings: Findings) -> set[str]:
    return {finding.id for finding in findings if blocks_approval(finding)}


def _end_without_model(review: ReviewRecord, current: RoundState) -> LoopEnding | None:
    """Decide if rules or a simulation took part; None if a model's verdict counts.

    Rules only fill and check a template: their result is a skeleton, and they approve
    nothing.
    """
    reviewer = current["reviewer"]
    if reviewer == SIMULATED:
        return LoopEnding(State.SIMULATED, review.summary)
    if current["drafter"] == RULES and reviewer != SCRIPTED:
        findings = findings_of(current)
        gaps = count(len(findings), "finding")
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
        is_unreviewed = not round["verdict"]
        open_ids = _open_ids(round)
        return is_unreviewed, len(open_ids)

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
    beginning = line[: LONGEST_LINE - 1]
    return f"{beginning}…"
