"""Open a pull request for an implemented item, once however often it is asked for.

GitHub is the only place that knows of it: the open pull request of the item's branch is looked for before one is
created, and GitHub itself refuses a second one, so a kill at any moment leaves nothing that a rerun could get wrong.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as GitHub tells of it."""

    number: int
    url: str
    state: str
    """`open`, `closed` or `merged`."""
    is_draft: bool
    base: str
    """The branch into which it is to be merged."""
    commit: str
    """The commit at the top of what it offers."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be opened."""

    branch: str
    base: str
    title: str
    body: str
    is_draft: bool
