"""The report of an item says what it cost and what the reviewer of its test plan
remarked.
"""

from __future__ import annotations

import pytest

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.provenance import RECORDED
from agentos.documents.verdict import Decision, Verdict, verdict_json
from agentos.workflows.implementation.blueprint import read_blueprint
from agentos.workflows.implementation.reports import (
    artifacts_of,
    render_implementation,
)
from agentos.workflows.implementation.state import (
    ImplementationState,
    Scaffold,
    initial_state,
)
from tests.designs import Item

PLAN = Verdict(
    Decision.APPROVED,
    "The plan can fail.",
    (Finding("H1", Tier.HIGH, Category.QUALITY, "", "Test the empty list too"),),
)


def make_state(**changes: object) -> ImplementationState:
    """Return the state of an item that was built, with some of it different."""
    state = initial_state("1", Item(1).design, 0, "<!-- stamp -->")
    state["decision"] = "implemented"
    state.update(changes)  # type: ignore[typeddict-item]
    return state


def render(state: ImplementationState) -> str:
    """Return the report."""
    return render_implementation(state, read_blueprint(state["source"], "1"))


def render_review(state: ImplementationState) -> str:
    """Return the review of the test plan in the lineage."""
    lineage, _ = artifacts_of(state).files
    return lineage["002-plan-review.md"]


def test_the_cost_of_all_calls_is_told() -> None:
    assert "* **Cost:** $0.0123\n" in render(make_state(cost=12_300))
    assert "* **Cost:** nothing, by the prices that are known\n" in render(make_state())


def test_remarks_of_the_plans_reviewer_are_kept() -> None:
    assert "Remarks of the test plan's reviewer" not in render(make_state())
    told = render(make_state(plan=verdict_json(PLAN)))
    assert "Test the empty list too" in told


def test_a_recorded_review_of_the_plan_says_so() -> None:
    by_model = render_review(make_state(plan=verdict_json(PLAN), reviewer="gpt"))
    assert "- [x] **APPROVED** - " in by_model
    recorded = render_review(make_state(plan=verdict_json(PLAN), reviewer=RECORDED))
    assert recorded == by_model.replace("APPROVED", "APPROVED (recorded)")


@pytest.mark.parametrize(
    ("decision", "has_tests", "end"),
    [
        ("needs-revision", False, "Not begun: the test plan needs revision"),
        ("needs-revision", True, "Not delivered: the review of the code found harm"),
        ("needs-discussion", False, "Not begun: the reviewer has a question"),
        ("needs-discussion", True, "Not delivered: the reviewer has a question"),
        ("not-green", True, "Failed: not-green"),
        ("implemented", True, "Implemented"),
    ],
)
def test_the_end_says_how_far_it_came(decision: str, has_tests: bool, end: str) -> None:
    tests = Scaffold(answer="", author="", tests={}, names=[], problems=[])
    state = make_state(decision=decision, scaffolds=[tests] if has_tests else [])
    assert f"* **End:** {end}\n" in render(state)


def test_what_failed_is_no_deviation_from_the_design() -> None:
    told = render(
        make_state(decision="not-green", findings=["tests/test_a.py::test_a: fails"])
    )
    assert "## Why it ended\n\n- tests/test_a.py::test_a: fails" in told
    assert "Deviations" not in told
