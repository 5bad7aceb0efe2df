"""The rules of the drafting loop: what is still open, whether going on helps, how it ends (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.tracking import Tracked, change_detector, find_standstill, track
from agentos.documents.verdict import Decision, Verdict, parse_verdict
from agentos.task import Failure, State
from agentos.wording import count
from agentos.workflows.drafting.state import RoundState

LONGEST_LINE = 300
LOSSES = ("lost-", "shrunk")
"""How the ids of findings begin that speak of what a revision lost."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the loop ends: a state of the item or `review-stall`, and why; both empty while it goes on."""

    decision: str = ""
    message: str = ""


def findings_of(entry: RoundState) -> tuple[Finding, ...]:
    """Return what a round found: its review's findings, or those of the mechanical check."""
    if entry["verdict"]:
        return parse_verdict(entry["verdict"]).findings
    return tuple(
        Finding(
            problem["id"], Tier(problem["tier"]), Category(problem["category"]), problem["section"], problem["text"]
        )
        for problem in entry["problems"]
    )


def latest_review(rounds: Sequence[RoundState]) -> RoundState | None:
    """Return the last round that was reviewed."""
    return next((entry for entry in reversed(rounds) if entry["verdict"]), None)


def basis_of(rounds: Sequence[RoundState]) -> RoundState | None:
    """Return the round that the next draft revises, and is compared with: the last one that lost nothing.

    Compared with a draft that was refused for what it lost, the same loss would pass the next time.
    """
    return next((entry for entry in reversed(rounds) if not any(map(_is_loss, entry["problems"]))), None)


def _is_loss(problem: Mapping[str, str]) -> bool:
    return problem["id"].startswith(LOSSES)


def to_mend(rounds: Sequence[RoundState]) -> tuple[Finding, ...]:
    """Return what the next draft has to resolve: what the last one was refused for, and what the last review found."""
    if not rounds:
        return ()
    last, reviewed = rounds[-1], latest_review(rounds)
    earlier = findings_of(reviewed) if reviewed is not None and reviewed is not last else ()
    return (*findings_of(last), *earlier)


def last_word(rounds: Sequence[RoundState], decision: str) -> RoundState | None:
    """Return the round that says what is open: the one that decided, or the best where none did."""
    if decision in (State.APPROVED, State.NEEDS_DISCUSSION):
        return rounds[-1]
    return best_round(rounds)


def follow(verdict: Verdict, earlier: Sequence[RoundState], draft: str) -> Tracked:
    """Give the findings of a review their lasting ids and say what became of the earlier ones."""
    last = latest_review(earlier)
    is_changed = change_detector(last["draft"] if last else "", draft)
    return track(verdict.findings, [findings_of(entry) for entry in earlier if entry["verdict"]], is_changed)


def end_of_validation(rounds: Sequence[RoundState], max_rounds: int) -> Ending:
    """Decide after a mechanical check: a draft with problems goes no further, nor does one that was there before."""
    *earlier, current = rounds
    problems = current["problems"]
    if problems and len(rounds) >= max_rounds:
        found = f"{count(len(problems), 'finding')} of the mechanical check still open: {problems[0]['text']}"
        return Ending(State.NEEDS_REVISION, found)
    repeated = next((n for n, entry in enumerate(earlier, 1) if entry["draft"] == current["draft"]), 0)
    if repeated:
        # A drafter that gives the same text again will go on to: further calls would be paid for nothing.
        return _stalled(f"draft {len(rounds)} is draft {repeated} again")
    unreviewed = 0
    while unreviewed < len(rounds) and not rounds[-1 - unreviewed]["verdict"]:
        unreviewed += 1
    standstill = find_standstill([findings_of(entry) for entry in rounds[len(rounds) - unreviewed :]])
    return _stalled(f"mechanical check: {standstill}") if problems and standstill else Ending()


def end_of_review(verdict: Verdict, rounds: Sequence[RoundState], max_rounds: int) -> Ending:
    """Decide after a review; each of its three decisions has a path of its own."""
    match verdict.decision:
        case Decision.APPROVED:
            return Ending(State.APPROVED, verdict.summary)
        case Decision.DISCUSS:
            return Ending(State.NEEDS_DISCUSSION, verdict.questions[0] if verdict.questions else verdict.summary)
    blocking = [finding for finding in verdict.findings if blocks_approval(finding)]
    if len(rounds) >= max_rounds:
        first = blocking[0].text if blocking else verdict.summary
        return Ending(State.NEEDS_REVISION, f"not approved in {count(len(rounds), 'round')}: {first}")
    standstill = find_standstill([findings_of(entry) for entry in rounds if entry["verdict"]])
    return _stalled(standstill) if standstill else Ending()


def _stalled(why: str) -> Ending:
    return Ending(Failure.REVIEW_STALL, f"the review makes no progress: {why}")


def best_round(rounds: Sequence[RoundState]) -> RoundState | None:
    """Return the round with the fewest findings that block approval, reviewed ones first; of equals, the last."""
    return min(reversed(rounds), key=lambda entry: (not entry["verdict"], _count_blocking(entry)), default=None)


def _count_blocking(entry: RoundState) -> int:
    return sum(blocks_approval(finding) for finding in findings_of(entry))


def say_finding(finding: Finding) -> str:
    """Return a finding as one line for reports."""
    where = f", {finding.section}" if finding.section else ""
    line = " ".join(f"{finding.id} ({finding.tier}{where}): {finding.text}".split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
