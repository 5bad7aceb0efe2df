"""The graph of an implementation: tests, red proof, code, green proof, whole suite,
repeated until it is decided.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.graph import END, START, StateGraph

from agentos.workflows.engine.steps import Update, as_node
from agentos.workflows.implementation import (
    coding,
    nodes,
    plan,
    revising,
    scaffolding,
)
from agentos.workflows.implementation.context import (
    CODE,
    PLAN,
    REVISE,
    TESTS,
    BuildContext,
)
from agentos.workflows.implementation.state import ImplementationState

Step = Callable[[ImplementationState, BuildContext], Awaitable[Update]]

LOAD = "N0_load"
RED = "N3_red"
GREEN = "N5_green"
REGRESSION = "N6_regression"
VALIDATE = "N7_validate"
FINALIZE = "N8_finalize"
STEPS: dict[str, Step] = {
    LOAD: nodes.load,
    PLAN: plan.review_plan,
    REVISE: revising.revise,
    TESTS: scaffolding.scaffold,
    RED: scaffolding.prove_red,
    CODE: coding.implement,
    GREEN: coding.prove_green,
    REGRESSION: coding.prove_no_regression,
    VALIDATE: nodes.validate,
    FINALIZE: nodes.finalize,
}


def build_graph() -> StateGraph[
    ImplementationState, BuildContext, ImplementationState, ImplementationState
]:
    """Return the graph; each step reports to the context's `observe` when it runs."""
    builder = StateGraph(ImplementationState, context_schema=BuildContext)
    for name, step in STEPS.items():
        builder.add_node(name, as_node(name, step))
    builder.add_edge(START, LOAD)
    builder.add_edge(LOAD, PLAN)
    builder.add_conditional_edges(
        PLAN, _or_end(plan.after_review), [TESTS, REVISE, FINALIZE]
    )
    builder.add_conditional_edges(
        REVISE, _or_end(revising.after_revision), [PLAN, REVISE, FINALIZE]
    )
    builder.add_conditional_edges(
        TESTS, _after_attempt("scaffolds", TESTS, RED), [TESTS, RED, FINALIZE]
    )
    builder.add_conditional_edges(
        RED, _after_attempt("scaffolds", TESTS, CODE), [TESTS, CODE, FINALIZE]
    )
    for proof, following in (
        (CODE, GREEN),
        (GREEN, REGRESSION),
        (REGRESSION, VALIDATE),
    ):
        builder.add_conditional_edges(
            proof,
            _after_attempt("iterations", CODE, following),
            [CODE, following, FINALIZE],
        )
    builder.add_edge(VALIDATE, FINALIZE)
    builder.add_edge(FINALIZE, END)
    return builder


def _or_end(
    find_next: Callable[[ImplementationState], str],
) -> Callable[[ImplementationState], str]:
    """Return a router to the step that follows, or to the last one."""

    def choose(state: ImplementationState) -> str:
        return find_next(state) or FINALIZE

    return choose


def _after_attempt(
    attempts: str, again: str, following: str
) -> Callable[[ImplementationState], str]:
    """Return a router that repeats a refused attempt or goes on."""

    def choose(state: ImplementationState) -> str:
        if state["decision"]:
            return FINALIZE
        current: Any = state[attempts][-1]  # type: ignore[literal-required]
        if current.get("problems") or current.get("refusals"):
            return again
        return following

    return choose
