"""An implementation as a graph: tests first, red, code, green, the whole suite, and again, until it is decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.graph import END, START, StateGraph

from agentos.workflows.implementation import nodes
from agentos.workflows.implementation.nodes import Context
from agentos.workflows.implementation.state import ImplementationState
from agentos.workflows.steps import Update, as_node

Step = Callable[[ImplementationState, Context], Awaitable[Update]]

LOAD, PLAN, TESTS, RED = "N0_load", nodes.PLAN, nodes.TESTS, "N3_red"
CODE, GREEN, REGRESSION, VALIDATE, FINALISE = nodes.CODE, "N5_green", "N6_regression", "N7_validate", "N8_finalize"
STEPS: dict[str, Step] = {
    LOAD: nodes.load,
    PLAN: nodes.review_plan,
    TESTS: nodes.scaffold,
    RED: nodes.prove_red,
    CODE: nodes.implement,
    GREEN: nodes.prove_green,
    REGRESSION: nodes.prove_no_regression,
    VALIDATE: nodes.validate,
    FINALISE: nodes.finalise,
}


def build_graph() -> StateGraph[ImplementationState, Context, ImplementationState, ImplementationState]:
    """Return the graph; each step tells the context's `observe` when it runs."""
    builder = StateGraph(ImplementationState, context_schema=Context)
    for name, step in STEPS.items():
        builder.add_node(name, as_node(name, step))
    builder.add_edge(START, LOAD)
    builder.add_edge(LOAD, PLAN)
    builder.add_conditional_edges(PLAN, _unless_decided(TESTS), [TESTS, FINALISE])
    builder.add_conditional_edges(TESTS, _after_attempt("scaffolds", TESTS, RED), [TESTS, RED, FINALISE])
    builder.add_conditional_edges(RED, _after_attempt("scaffolds", TESTS, CODE), [TESTS, CODE, FINALISE])
    for proof, following in ((CODE, GREEN), (GREEN, REGRESSION), (REGRESSION, VALIDATE)):
        builder.add_conditional_edges(proof, _after_attempt("iterations", CODE, following), [CODE, following, FINALISE])
    builder.add_edge(VALIDATE, FINALISE)
    builder.add_edge(FINALISE, END)
    return builder


def _unless_decided(following: str) -> Callable[[ImplementationState], str]:
    def choose(state: ImplementationState) -> str:
        return FINALISE if state["decision"] else following

    return choose


def _after_attempt(attempts: str, again: str, following: str) -> Callable[[ImplementationState], str]:
    """Return to the writing of what was refused, or go on."""

    def choose(state: ImplementationState) -> str:
        if state["decision"]:
            return FINALISE
        current: Any = state[attempts][-1]  # type: ignore[literal-required]
        return again if current.get("problems") or current.get("refusals") else following

    return choose
