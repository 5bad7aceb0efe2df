"""What an implementation carries from step to step; the graph library drops what is not declared here.

Files are not in it: they are in the worktree and, at every step, in a snapshot that the state names. A resumed step
first puts the worktree back to that snapshot.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Scaffold(TypedDict):
    """One attempt at the tests."""

    answer: str
    author: str
    tests: dict[str, str]
    """The test files by path; empty when the answer could not be used."""
    names: list[str]
    """The tests that the item brings or changes, as the runner names them."""
    earlier: NotRequired[list[str]]
    """The tests that the files held before, whether they were changed or not."""
    problems: list[str]
    """Why they were refused; empty for those that were taken."""


class Iteration(TypedDict):
    """One attempt at the code."""

    answer: str
    author: str
    snapshot: str
    """The worktree with this attempt in it; empty when the answer was refused before anything was written."""
    refusals: list[str]
    """Why it is not the last one: what the answer did wrong, or what the tests showed."""
    extras: dict[str, str]
    """Files that the design does not declare, with the reasons given."""
    run: dict[str, Any]
    """The run of the item's own tests, as JSON data; empty when there was none."""
    suite: dict[str, Any]
    """The run of the whole suite, as JSON data; empty when it did not come to that."""
    feedback: str
    """What the next attempt is told about this one."""


class ImplementationState(TypedDict):
    """The whole state of one item."""

    item: str
    source: str
    """The design."""
    began: int
    """When the item was begun, in seconds since 1970: the time of its commit, also when it is resumed."""
    base: str
    """The commit it builds on."""
    material: str
    plan: str
    """The review of the test plan in its JSON form."""
    plan_answer: str
    reviewer: str
    scaffolds: list[Scaffold]
    snapshot: str
    """The commit that the worktree has to be at before the next step."""
    red: dict[str, Any]
    """The run without the code, as JSON data; what could not be imported without it was stood in for."""
    bare: NotRequired[dict[str, Any]]
    """The same with nothing in the place of the code; empty while it is not known."""
    before: dict[str, Any]
    """The whole suite on the base, as JSON data; empty when nothing asked for it."""
    iterations: list[Iteration]
    unproven: list[str]
    """Declared files whose change no test notices, and tests that notice no change, one line each."""
    touched: list[str]
    """Files that the finished item changes."""
    decision: str
    """How it ended: a state of the item or a class of failure, empty while it goes on."""
    message: str
    findings: list[str]
    questions: list[str]
    commit: str
    """What the branch points at when it is done."""
    branch: str
    stamp: str
    """The line by which the report of a finished item tells which design it is of."""
    calls: int
    environment: NotRequired[str]
    """Where what the tests need comes from."""
    cost: NotRequired[int]
    """What the calls cost, in micro-dollars."""


def initial_state(item: str, source: str, began: int, stamp: str) -> ImplementationState:
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
    )
