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
    memory,
    nodes,
    plan,
    scaffolding,
)
from agentos.workflows.implementation.context import CODE, PLAN, TESTS, BuildContext
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
    TESTS: scaffolding.scaffold,
    RED: scaffolding.prove_red,
    RECALL_CODE: memory.take_up_code,
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
    builder.add_conditional_edges(LOAD, _after_load, [RECALL, PLAN])
    builder.add_conditional_edges(RECALL, _after_recall, [PLAN, TESTS, RED])
    builder.add_conditional_edges(PLAN, _unless_decided(TESTS), [TESTS, FINALIZE])
    builder.add_conditional_edges(
        TESTS, _after_attempt("scaffolds", TESTS, RED), [TESTS, RED, FINALIZE]
    )
    builder.add_conditional_edges(RED, _after_red, [TESTS, RECALL_CODE, CODE, FINALIZE])
    builder.add_conditional_edges(RECALL_CODE, _after_recalled_code, [CODE, GREEN])
    for proof, following in (
        (CODE, GREEN),
        (GREEN, REGRESSION),
    ):
        builder.add_conditional_edges(
            proof,
            _after_attempt("iterations", CODE, following),
            [CODE, following, FINALIZE],
        )
    builder.add_conditional_edges(
        REGRESSION, _after_regression, [CODE, VALIDATE, FINALIZE]
    )
    builder.add_edge(VALIDATE, FINALIZE)
    builder.add_edge(FINALIZE, END)
    return builder


def _after_load(state: ImplementationState) -> str:
    return RECALL if state.get("kept") else PLAN


def _after_recall(state: ImplementationState) -> str:
    if not state["plan"]:
        return PLAN
    scaffolds = state["scaffolds"]
    if not scaffolds or scaffolds[-1]["problems"]:
        return TESTS
    return RED


def _after_red(state: ImplementationState) -> str:
    code = RECALL_CODE if memory.has_kept_code(state) else CODE
    return _after_attempt("scaffolds", TESTS, code)(state)


def _after_recalled_code(state: ImplementationState) -> str:
    return GREEN if state["iterations"] else CODE


def _after_regression(state: ImplementationState) -> str:
    following = CODE if memory.is_unanswered(state) else VALIDATE
    return _after_attempt("iterations", CODE, following)(state)


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
