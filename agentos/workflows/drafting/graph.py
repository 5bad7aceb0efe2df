"""The graph of the drafting loop: load, draft, validate, review, repeated until it is
decided.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from langgraph.graph import END, START, StateGraph

from agentos.workflows.drafting import nodes
from agentos.workflows.drafting.kind import DraftingKind
from agentos.workflows.drafting.nodes import DraftingContext
from agentos.workflows.drafting.state import DraftingState
from agentos.workflows.engine.steps import Update, as_node

Step = Callable[[DraftingState, DraftingContext], Awaitable[Update]]


def build_graph(
    kind: DraftingKind,
) -> StateGraph[DraftingState, DraftingContext, DraftingState, DraftingState]:
    """Return the graph of a drafting kind; each step reports to the context's `observe`
    when it runs.
    """
    load, draft, validate, review, finalize = kind.nodes
    steps: dict[str, Step] = {
        load: nodes.load,
        draft: nodes.draft,
        validate: nodes.validate,
        review: nodes.review,
        finalize: nodes.finalize,
    }

    def after_load(state: DraftingState) -> str:
        if state["rounds"]:
            return validate
        return draft

    def after_validation(state: DraftingState) -> str:
        if state["decision"]:
            return finalize
        if state["rounds"][-1]["problems"]:
            return draft
        return review

    def after_review(state: DraftingState) -> str:
        if state["decision"]:
            return finalize
        return draft

    builder = StateGraph(DraftingState, context_schema=DraftingContext)
    for name, step in steps.items():
        builder.add_node(name, as_node(name, step))
    builder.add_edge(START, load)
    builder.add_conditional_edges(load, after_load, [draft, validate])
    builder.add_edge(draft, validate)
    builder.add_conditional_edges(validate, after_validation, [draft, review, finalize])
    builder.add_conditional_edges(review, after_review, [draft, finalize])
    builder.add_edge(finalize, END)
    return builder
