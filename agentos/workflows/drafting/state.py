"""The state of a drafting item; the graph library drops every key that is not declared
here.

What is `NotRequired` is missing in checkpoints of earlier versions.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class RoundState(TypedDict):
    """One round: the draft, its mechanical check, and its review if there was one."""

    draft: str
    drafter: str
    problems: list[dict[str, str]]
    """Findings of the mechanical check, as JSON data."""
    verdict: str
    """The review as JSON with stable finding ids; empty if there was none."""
    answer: str
    """The reviewer's answer from which the verdict was read."""
    reviewer: str
    reviewed_on: str
    hints: NotRequired[list[str]]
    """What the mechanical check asks the reviewer to look at."""
    contests: NotRequired[int]
    """How many findings its writer contests."""
    notes: NotRequired[list[str]]
    """What the writer says it did about the findings."""
    looked: NotRequired[list[str]]
    """What writer and reviewer looked at, a line each."""
    plan: NotRequired[str]
    """The review of its test plan as JSON, if there was one."""
    open: NotRequired[list[str]]
    """The ids of the findings that hold up an approval after this round's review."""


class DraftingState(TypedDict):
    """The whole state of one item."""

    item: str
    source: str
    material: str
    """The repository context, gathered once so that a resumed item sends the same
    prompts.
    """
    rounds: list[RoundState]
    decision: str
    """How the loop ended: a state of the item or `review-stall`; empty while it runs."""
    message: str
    final: str
    calls: int
    snapshot: NotRequired[dict[str, Any]]
    """The repository as it was when the item began, for looks."""
    ledger: NotRequired[dict[str, Any]]
    """The findings and reviews of the document."""
    earlier_draft: NotRequired[str]
    """The draft with which an earlier run ended, to go on from."""


def initial_state(item: str, source: str) -> DraftingState:
    """Return the state an item starts with."""
    return DraftingState(
        item=item,
        source=source,
        material="",
        rounds=[],
        decision="",
        message="",
        final="",
        calls=0,
    )


def new_round(draft: str, drafter: str) -> RoundState:
    """Return a round that has only a draft yet."""
    return RoundState(
        draft=draft,
        drafter=drafter,
        problems=[],
        verdict="",
        answer="",
        reviewer="",
        reviewed_on="",
    )
