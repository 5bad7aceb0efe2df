"""The graph of an implementation: tests, red proof, code, green proof, whole suite,
repeated until it is decided.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.graph import END, START, StateGraph

from agentos.workflows.engine.steps import Update, as_node
from agentos.workflows.implementation import coding, nodes, plan, scaffolding
from agentos.workflows.implementation.context import CODE, PLAN, TESTS, BuildContext
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
    builder.add_conditional_edges(PLAN, _unless_decided(TESTS), [TESTS, FINALIZE])
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


def _unless_decided(following: str) -> Callable[[ImplementationState], str]:
    def choose(state: ImplementationState) -> str:
        return FINALIZE if state["decision"] else following

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
