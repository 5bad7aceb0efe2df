"""Where a worker builds an item."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """The places of one item: plain data, like the rest of an assignment.

    The paths are of this machine. Workers elsewhere put places of their own for them.
    """

    worktree: str
    """The folder of the item's worktree."""
    environments: str
    """The folder of the environments in which tests run."""
    builds_on: tuple[str, ...] = ()
    """The items whose finished work this item builds on."""
