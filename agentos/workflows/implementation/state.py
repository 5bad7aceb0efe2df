"""The state of an implementation; the graph library drops every key that is not declared
here.

Files are not part of it: they are in the worktree and, after every step, in a snapshot
that the state names. A resumed step first restores the worktree to that snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict


class Scaffold(TypedDict):
    """One attempt at the tests."""

    answer: str
    author: str
    tests: dict[str, str]
    """The test files by path; empty if the answer could not be used."""
    names: list[str]
    """The tests that the item adds or changes, as the runner names them."""
    earlier: NotRequired[list[str]]
    """The existing tests of the files, changed or not."""
    problems: list[str]
    """Why the tests were refused; empty if they were accepted."""
    is_kept: NotRequired[bool]
    """Whether it is of an earlier run, and so no attempt of this one."""


class Iteration(TypedDict):
    """One attempt at the code."""

    answer: str
    author: str
    snapshot: str
    """The commit with this attempt; empty if the answer was refused before anything was
    written.
    """
    refusals: list[str]
    """Why the attempt was refused: problems of the answer, or failures of the tests."""
    extras: dict[str, str]
    """Files that the design does not declare, with the reasons given."""
    run: dict[str, Any]
    """The run of the item's own tests as JSON data; empty if there was none."""
    suite: dict[str, Any]
    """The run of the whole suite as JSON data; empty if there was none."""
    feedback: str
    """Feedback on this attempt for the next one."""
    is_kept: NotRequired[bool]
    """Whether it is of an earlier run, and so no attempt of this one."""


class Kept(TypedDict, total=False):
    """What an item goes on from; what an earlier run did not leave is missing."""

    plan: dict[str, Any]
    """The state of the plan's review."""
    tests: Scaffold
    base: str
    """The commit that the tests were written on."""
    snapshot: str
    """The commit with the tests; empty if they were refused."""
    code: Iteration
    """The best attempt at the code."""
    under: str
    """The snapshot of the tests that the code was written on."""
    answers: str
    """The note of the person that the code was written with."""
    says: list[str]
    """What the console says about it, line by line."""


class ImplementationState(TypedDict):
    """The whole state of one item."""

    item: str
    source: str
    """The design."""
    began: int
    """Start of the item in seconds since 1970; the time of its commit, also after a
    resume.
    """
    base: str
    """The commit that the item builds on."""
    material: str
    """The repository context that the models see."""
    plan: str
    """The review of the test plan as JSON."""
    plan_answer: str
    reviewer: str
    scaffolds: list[Scaffold]
    snapshot: str
    """The commit to which the next step restores the worktree."""
    red: dict[str, Any]
    """The run before the code is written, as JSON data; skeletons stand in for modules
    that the tests import.
    """
    bare: NotRequired[dict[str, Any]]
    """The run without code and without skeletons, as JSON data; empty while unknown."""
    before: dict[str, Any]
    """The run of the whole suite on the base, as JSON data; empty if there was none."""
    iterations: list[Iteration]
    unproven: list[str]
    """Declared files whose change no test notices, and tests that notice no change, one
    line each.
    """
    touched: list[str]
    """Files that the finished item changes."""
    decision: str
    """How the item ended: a state or a failure class; empty while it runs."""
    message: str
    findings: list[str]
    questions: list[str]
    commit: str
    """The commit of the finished branch."""
    branch: str
    stamp: str
    """The build marker: the line of the report that names the design's hash."""
    calls: int
    environment: NotRequired[str]
    """Where the test environment comes from."""
    cost: NotRequired[int]
    """The cost of the calls in micro-dollars."""
    note: str
    """What a person says to the models; empty if nobody said anything."""
    begun: NotRequired[str]
    """What it was begun anew with: `tests`, `code` or `all`; empty if it went on."""
    kept: NotRequired[Kept]
    """What earlier runs left, to be taken up."""


def count_attempts(attempts: Sequence[Scaffold] | Sequence[Iteration]) -> int:
    """Return how many attempts are of this run."""
    own = [attempt for attempt in attempts if not attempt.get("is_kept")]
    return len(own)


def initial_state(
    item: str, source: str, began: int, stamp: str
) -> ImplementationState:
    """Return the state an item starts with."""
    return ImplementationState(
        item=item,
        source=source,
        began=began,
        base="",
        material="",
        plan="",
        plan_answer="",
        reviewer="",
        scaffolds=[],
        snapshot="",
        red={},
        before={},
        iterations=[],
        unproven=[],
        touched=[],
        decision="",
        message="",
        findings=[],
        questions=[],
        commit="",
        branch="",
        stamp=stamp,
        calls=0,
        cost=0,
        note="",
    )
