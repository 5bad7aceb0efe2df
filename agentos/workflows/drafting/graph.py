"""The drafting loop as a graph: load, draft, validate, review, and again, until it is decided."""

from __future__ import annotations

from collections.abc import Callable

from langgraph.graph import END, START, StateGraph

from agentos.workflows.drafting import nodes
from agentos.workflows.drafting.kind import Kind
from agentos.workflows.drafting.nodes import Context
from agentos.workflows.drafting.state import DraftingState
from agentos.workflows.steps import as_node


def build_graph(kind: Kind) -> StateGraph[DraftingState, Context, DraftingState, DraftingState]:
    """Return the graph of a drafting workflow; each step tells the context's `observe` when it runs."""
    load, draft, validate, review, finalise = kind.nodes
    builder = StateGraph(DraftingState, context_schema=Context)
    for name, step in (
        (load, nodes.load),
        (draft, nodes.draft),
        (validate, nodes.validate),
        (review, nodes.review),
        (finalise, nodes.finalise),
    ):
        builder.add_node(name, as_node(name, step))
    builder.add_edge(START, load)
    builder.add_edge(load, draft)
    builder.add_edge(draft, validate)
    builder.add_conditional_edges(validate, _after_validation(kind), [draft, review, finalise])
    builder.add_conditional_edges(review, _after_review(kind), [draft, finalise])
    builder.add_edge(finalise, END)
    return builder


def _after_validation(kind: Kind) -> Callable[[DraftingState], str]:
    _, draft, _, review, finalise = kind.nodes

    def choose(state: DraftingState) -> str:
        if state["decision"]:
            return finalise
        return draft if state["rounds"][-1]["problems"] else review

    return choose


def _after_review(kind: Kind) -> Callable[[DraftingState], str]:
    _, draft, _, _, finalise = kind.nodes

    def choose(state: DraftingState) -> str:
        return finalise if state["decision"] else draft

    return choose
