"""Where and how an item is built: what a worker is told of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workshop:
    """What an item needs that builds something: plain data, as all of an assignment."""

    worktree: str
    """The folder of its worktree."""
    environments: str
    """The folder of the environments in which tests are run."""
    builds_on: tuple[str, ...] = ()
    """The items whose finished work it has to contain, where there is any."""
    coverage_target: float = 95.0
    test_timeout: float = 300.0
    """Seconds that one run of tests may take."""
    stops_after_tests: bool = False
    """Whether it ends when its tests are written and proven red."""
