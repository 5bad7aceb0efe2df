"""What a drafting workflow carries from step to step; the graph library drops what is not declared here."""

from __future__ import annotations

from typing import TypedDict


class RoundState(TypedDict):
    """One round: the draft, what the machine found in it, and the review if it was paid for."""

    draft: str
    drafter: str
    problems: list[dict[str, str]]
    """Findings of the mechanical check, as JSON data."""
    verdict: str
    """The review in its JSON form with lasting ids, empty when the draft did not get that far."""
    fates: dict[str, str]
    """What became of every known finding in this review, by id."""
    answer: str
    """What the verdict was read from, as the reviewer gave it."""
    reviewer: str
    reviewed_on: str


class DraftingState(TypedDict):
    """The whole state of one item."""

    item: str
    source: str
    material: str
    """What of the repository the drafter is shown: gathered once, so that a resumed item asks the same questions."""
    rounds: list[RoundState]
    decision: str
    """How the loop ended: a state of the item or `review-stall`, empty while it goes on."""
    message: str
    final: str
    calls: int


def initial_state(item: str, source: str) -> DraftingState:
    """Return the state an item starts with."""
    return DraftingState(item=item, source=source, material="", rounds=[], decision="", message="", final="", calls=0)
