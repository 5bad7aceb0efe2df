"""The graph of an implementation: tests, red proof, code, green proof, whole suite,
review of the code; repeated until it is decided.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from langgraph.graph import END, START, StateGraph

from agentos.workflows.engine.steps import Update, as_node
from agentos.workflows.implementation import (
    code_review,
    coding,
    contesting,
    held_out,
    memory,
    nodes,
    plan,
    revising,
    scaffolding,
)
from agentos.workflows.implementation.context import (
    CODE,
    CONTEST,
    HELD,
    PLAN,
    REVIEW,
    REVISE,
    TESTS,
    BuildContext,
)
from agentos.workflows.implementation.state import ImplementationState

Step = Callable[[ImplementationState, BuildContext], Awaitable[Update]]

LOAD = "N0_load"
RECALL = "N0_recall"
RECALL_CODE = "N4_recall"
RED = "N3_red"
GREEN = "N5_green"
REGRESSION = "N6_regression"
VALIDATE = "N7_validate"
FINALIZE = "N8_finalize"
STEPS: dict[str, Step] = {
    LOAD: nodes.load,
    RECALL: memory.take_up,
    PLAN: plan.review_plan,
    REVISE: revising.revise,
    TESTS: scaffolding.scaffold,
    RED: scaffolding.prove_red,
    RECALL_CODE: memory.take_up_code,
    CODE: coding.implement,
    CONTEST: contesting.rule,
    GREEN: coding.prove_green,
    HELD: held_out.rule,
    REGRESSION: coding.prove_no_regression,
    REVIEW: code_review.review_code,
    VALIDATE: nodes.validate,
    FINALIZE: nodes.finalize,
}


def build_graph() -> StateGraph[
    ImplementationState, BuildContext, ImplementationState, ImplementationState
]:
    """Return the graph; each step reports to the context's `observe` when it runs."""
    builder = StateGraph(ImplementationState, context_schema=BuildContext)
    for name, step in STEPS.items():
        builder.add_node(name, as_node(name, step, continues=_is_writing))
    builder.add_edge(START, LOAD)
    for before, choose in ROUTES.items():
        builder.add_conditional_edges(before, choose, list(STEPS))
    builder.add_edge(VALIDATE, FINALIZE)
    builder.add_edge(FINALIZE, END)
    return builder


def _after_load(state: ImplementationState) -> str:
    return RECALL if state.get("remembered") else PLAN


def _after_recall(state: ImplementationState) -> str:
    if not state["plan"]:
        return PLAN
    scaffolds = state["scaffolds"]
    if not scaffolds or scaffolds[-1]["problems"]:
        return TESTS
    return RED


def _after_recalled_code(state: ImplementationState) -> str:
    return GREEN if state["iterations"] else CODE


def _after_plan(state: ImplementationState) -> str:
    return plan.after_review(state) or FINALIZE


def _after_revision(state: ImplementationState) -> str:
    return revising.after_revision(state) or FINALIZE


def _is_writing(state: ImplementationState) -> bool:
    """Tell whether a role is in the middle of its turns."""
    return bool(state.get("writing"))


def _after_tests(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if _is_writing(state):
        return TESTS
    return TESTS if state["scaffolds"][-1]["problems"] else RED


def _after_red(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if state["scaffolds"][-1]["problems"]:
        return TESTS
    if memory.has_kept_code(state):
        return RECALL_CODE
    iterations = state["iterations"]
    if iterations and coding.has_untested_code(iterations[-1]):
        return GREEN
    return CODE


def _after_code(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if _is_writing(state):
        return CODE
    current = state["iterations"][-1]
    if current.get("contested") and not current["refusals"]:
        return CONTEST
    return _again_or(GREEN, state)


def _after_ruling(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if state.get("to_mend"):
        return TESTS
    return _again_or(GREEN, state)


def _after_green(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if state.get("held_failing"):
        return HELD
    return _again_or(REGRESSION, state)


def _after_held_out(state: ImplementationState) -> str:
    return FINALIZE if state["decision"] else _again_or(REGRESSION, state)


def _after_regression(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if state.get("to_mend"):
        return TESTS
    following = CODE if memory.is_unanswered(state) else REVIEW
    return _again_or(following, state)


def _after_review(state: ImplementationState) -> str:
    if state["decision"]:
        return FINALIZE
    if state.get("to_cover"):
        return REGRESSION
    return CODE if state.get("to_fix") else VALIDATE


def _again_or(following: str, state: ImplementationState) -> str:
    """Return the step after a proof, or that of the next attempt if it was refused."""
    if not state["iterations"][-1]["refusals"]:
        return following
    return VALIDATE if coding.falls_back(state) else CODE


ROUTES: dict[str, Callable[[ImplementationState], str]] = {
    LOAD: _after_load,
    RECALL: _after_recall,
    PLAN: _after_plan,
    REVISE: _after_revision,
    TESTS: _after_tests,
    RED: _after_red,
    RECALL_CODE: _after_recalled_code,
    CODE: _after_code,
    CONTEST: _after_ruling,
    GREEN: _after_green,
    HELD: _after_held_out,
    REGRESSION: _after_regression,
    REVIEW: _after_review,
}
