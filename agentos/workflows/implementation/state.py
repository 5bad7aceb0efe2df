"""The state of an implementation; the graph library drops every key that is not declared
here.

Files are not part of it: they are in the worktree and, after every step, in a snapshot
that the state names. A resumed step first restores the worktree to that snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from agentos.workflows.drafting.state import DraftingState

Data = dict[str, Any]
Lines = list[str]
Said = list[Lines]


class Slip(TypedDict):
    """An answer that could not be applied as a whole, and the reply to it."""

    answer: str
    reply: str


class Scaffold(TypedDict):
    """One attempt at the tests."""

    answer: str
    author: str
    tests: dict[str, str]
    """The test files by path; empty if the answer could not be used."""
    names: Lines
    """The tests that the item adds or changes, as the runner names them."""
    earlier: NotRequired[Lines]
    """The existing tests of the files, changed or not."""
    kept: NotRequired[dict[str, str]]
    """Scenarios of which the test writer says that they must not change, with its
    reasons.
    """
    problems: Lines
    """Why the tests were refused; empty if they were accepted."""
    slips: NotRequired[list[Slip]]
    snapshot: NotRequired[str]
    """The commit with this attempt."""
    is_kept: NotRequired[bool]
    """Whether it is of an earlier run, and so no attempt of this one."""


class Contested(TypedDict):
    """A test that the coder says is wrong, and why."""

    test: str
    reason: str


class Iteration(TypedDict):
    """One attempt at the code."""

    answer: str
    author: str
    snapshot: str
    """The commit with this attempt; empty if the answer was refused before anything was
    written.
    """
    refusals: Lines
    """Why the attempt was refused: problems of the answer, or failures of the tests."""
    extras: dict[str, str]
    """Files that the design does not declare, with the reasons given."""
    run: Data
    """The run of the item's own tests as JSON data; empty if there was none."""
    suite: Data
    """The run of the whole suite as JSON data; empty if there was none."""
    feedback: str
    """Feedback on this attempt for the next one."""
    slips: NotRequired[list[Slip]]
    contested: NotRequired[list[Contested]]
    """The tests that this attempt says are wrong."""
    scaffold: NotRequired[int]
    """Which attempt at the tests it was judged by."""
    has_code: NotRequired[bool]
    """Whether it changes anything."""
    is_kept: NotRequired[bool]
    """Whether it is of an earlier run, and so no attempt of this one."""


class Writing(TypedDict):
    """A phase of writing that is under way: a role works in turns."""

    role: str
    """`tests` or `code`."""
    start: str
    """The commit from which what differs is the role's work."""
    begin: str
    """The commit with its work before the phase."""
    snapshot: str
    """The commit with the files after the last turn."""
    turns: list[Slip]
    """The turns of this phase so far, with what they were answered."""
    extras: dict[str, str]
    """The reasons given for files that the design does not declare."""
    kept: dict[str, str]
    """Scenarios that the role says must not change, with its reasons."""
    contested: Said
    """Tests that the role says are wrong, with its reasons."""
    unreachable: list[Data]
    """Lines of which the role says that no test can reach them."""
    idle: int
    """Turns in a row that did nothing."""


class Remembered(TypedDict, total=False):
    """What an item goes on from; what an earlier run did not leave is missing."""

    plan: Data
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
    findings: Data
    """What reviews of the code have found."""
    claims: list[Data]
    """Lines of the code that no test can reach."""
    says: Lines
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
    kept: NotRequired[Lines]
    """Scenarios of which the plan's reviewer says that they must not change."""
    changed: NotRequired[Lines]
    """Scenarios of which it says that they only sound like it."""
    plan_findings: Lines
    """Open findings that whoever writes the tests has to know, a line each."""
    ledger: NotRequired[Data]
    """The findings and reviews of the design."""
    ledger_file: NotRequired[Data]
    """The file of the ledger as it was when the item first needed it."""
    ledger_hash: NotRequired[str]
    """Hash of that file, empty if there was none."""
    design: NotRequired[DraftingState]
    """The revision of the design, if its test plan was sent back."""
    scaffolds: list[Scaffold]
    snapshot: str
    """The commit to which the next step restores the worktree."""
    red: Data
    """The run before the code is written, as JSON data; skeletons stand in for modules
    that the tests import.
    """
    bare: NotRequired[Data]
    """The run without code and without skeletons, as JSON data; empty while unknown."""
    before: Data
    """The run of the whole suite on the base, as JSON data; empty if there was none."""
    iterations: list[Iteration]
    unproven: Lines
    """Declared files whose change no test notices, and tests that notice no change, one
    line each.
    """
    touched: Lines
    """Files that the finished item changes."""
    decision: str
    """How the item ended: a state or a failure class; empty while it runs."""
    message: str
    findings: Lines
    questions: Lines
    commit: str
    """The commit of the finished branch."""
    branch: str
    stamp: str
    """The build marker: the line of the report that names the design's hash."""
    calls: int
    environment: NotRequired[str]
    """Where the test environment comes from."""
    missing_extras: NotRequired[Lines]
    """Optional packages that the project declares and the test environment lacks."""
    cost: NotRequired[int]
    """The cost of the calls in micro-dollars."""
    tests_inputs: NotRequired[dict[str, str]]
    """What the conversation about the tests began with, beside the design."""
    tests_said: NotRequired[Said]
    """What was said in it since: who, and what."""
    code_inputs: NotRequired[dict[str, str]]
    code_said: NotRequired[Said]
    writer: NotRequired[str]
    """How tests and code are written: `loop` or `single`."""
    tries: NotRequired[int]
    """Attempts from the base that have failed, so that the code was begun anew."""
    tried: NotRequired[int]
    """Attempts at the code before the present one from the base."""
    writing: NotRequired[Writing | None]
    """What a role is writing in turns; None between phases."""
    tests_turns: NotRequired[int]
    """Turns of the conversation about the tests."""
    code_turns: NotRequired[int]
    held_failing: NotRequired[bool]
    """Whether tests that the coder does not see fail, and the reviewer is to rule."""
    held_rulings: NotRequired[int]
    """How often the reviewer ruled on them."""
    held_told: NotRequired[bool]
    """Whether the coder was told the scenarios of those that are right."""
    held_dropped: NotRequired[Lines]
    """Those that were wrong, with the reason, a line each."""
    rulings: NotRequired[int]
    """How often the reviewer ruled on contested tests."""
    to_mend: NotRequired[str]
    """What the test writer is told if its accepted tests have to change."""
    covers: NotRequired[int]
    """How often a shortfall of coverage went to the test writer."""
    missed: NotRequired[list[Data]]
    """The lines that no test runs while the test writer is told of them, as JSON data."""
    claims: NotRequired[list[Data]]
    """What the test writer says no test can reach, as JSON data."""
    to_cover: NotRequired[bool]
    """Whether the coverage is too low without the lines of refused claims."""
    tests_changed: NotRequired[str]
    """How the tests have changed since the coder last saw them."""
    mends: NotRequired[int]
    """How often accepted tests had to change."""
    to_fix: NotRequired[bool]
    """Whether the review of the code sent it back."""
    is_sent_back: NotRequired[bool]
    """Whether a review of the code has sent it back in this run."""
    code_ledger: NotRequired[Data]
    """What reviews of the code have found, as JSON data."""
    code_reviews: NotRequired[Lines]
    """The reviews of the code, as JSON."""
    proven: NotRequired[int]
    """Which attempt at the code passed all proofs before its review, counted from 1; 0
    for none.
    """
    note: str
    """What a person says to the models; empty if nobody said anything."""
    begun: NotRequired[str]
    """What it was begun anew with: `tests`, `code` or `all`; empty if it went on."""
    remembered: NotRequired[Remembered]
    """What earlier runs left, to be taken up."""


def joined(
    state: ImplementationState, update: Mapping[str, Any]
) -> ImplementationState:
    """Return the state after an update."""
    return cast("ImplementationState", {**state, **update})


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
        plan_findings=[],
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
