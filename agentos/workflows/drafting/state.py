"""The state of a drafting item; the graph library drops every key that is not declared
here.
"""

from __future__ import annotations

from typing import TypedDict


class RoundState(TypedDict):
    """One round: the draft, its mechanical check, and its review if there was one."""

    draft: str
    drafter: str
    problems: list[dict[str, str]]
    """Findings of the mechanical check, as JSON data."""
    verdict: str
    """The review as JSON with stable finding ids; empty if there was none."""
    fates: dict[str, str]
    """The status of every known finding in this review, by id."""
    answer: str
    """The reviewer's answer from which the verdict was read."""
    reviewer: str
    reviewed_on: str


class DraftingState(TypedDict):
    """The whole state of one item."""

    item: str
    source: str
    material: str
    """The repository context for the drafter, gathered once so that a resumed item sends
    the same prompts.
    """
    rounds: list[RoundState]
    decision: str
    """How the loop ended: a state of the item or `review-stall`; empty while it runs."""
    message: str
    final: str
    calls: int


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
