"""Run one graph for one item: open its checkpoint, start or resume, and return the
results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentos.item import Item, Outcome
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.settings import RunConfig
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import Identity, remember_blank
from agentos.workflows.engine.flow import Flow, ItemInterrupted, Paused, Session
from agentos.workflows.engine.flows import flow_of
from agentos.workflows.engine.saver import OpenCheckpoint, make_blank
from agentos.workflows.engine.stores import SqliteStore

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


async def run_session(
    session: Session, notice: Callable[[str], None]
) -> tuple[Outcome, Artifacts]:
    """Run the item to its end; return how it ended and the files to publish."""
    assignment = session.assignment
    item = assignment.item
    flow = flow_of(item.kind)
    identity = Identity(flow.workflow, flow.version, item.id, assignment.digest)
    async with session.store.open(identity) as checkpoint:
        if checkpoint.notice:
            notice(checkpoint.notice)
        context = flow.context(session, identity)
        state = await _run_graph(flow, session, checkpoint, context, notice)
        outcome = flow.outcome(state)
        flow.remember(state, assignment)
        await checkpoint.complete(outcome.to_json())
        session.observe("decided", outcome.state)
    return outcome, flow.artifacts(state, context)


async def _run_graph(
    flow: Flow,
    session: Session,
    checkpoint: OpenCheckpoint,
    context: Any,
    notice: Callable[[str], None],
) -> Any:
    assignment = session.assignment
    item = assignment.item
    graph = compiled_graph(item.kind).copy({"checkpointer": checkpoint.saver})
    config: RunnableConfig = {
        "configurable": {"thread_id": item.label},
        "recursion_limit": flow.most_steps(assignment),
    }
    pauses = frozenset(flow.pauses_before(assignment))
    snapshot = None if checkpoint.is_fresh else await graph.aget_state(config)
    if snapshot is not None and snapshot.values:
        loss = flow.find_loss(snapshot.values, context)
        is_same = flow.resumes(snapshot.values, assignment)
        if loss:
            notice(f"{loss}; starting again, answers that were given are used again")
        elif not is_same:
            session.observe("anew", "not resumed: it is to be gone on with differently")
        if loss or not is_same:
            flow.remember(snapshot.values, assignment)
            await checkpoint.restart()
            snapshot = None
    if snapshot is not None and checkpoint.is_completed:
        return snapshot.values
    # An empty `next` does not mean that the graph completed: after a kill between two
    # writes of the library, tasks are still listed.
    while (
        snapshot is None
        or not snapshot.values
        or snapshot.tasks
        or not snapshot.values.get("decision")
    ):
        if snapshot is not None and not pauses.isdisjoint(snapshot.next):
            raise Paused(flow.paused_outcome(snapshot.values))
        # Without a state the graph starts; with one, None tells it to resume.
        start = None
        if snapshot is None or not snapshot.values:
            start = flow.start(assignment)
        steps = graph.astream(
            start,
            config,
            context=context,
            stream_mode="updates",
            durability="sync",
            interrupt_before=tuple(pauses),
        )
        async for _ in steps:
            if session.is_stopping.is_set():
                raise ItemInterrupted
        snapshot = await graph.aget_state(config)
    return snapshot.values


@cache
def compiled_graph(kind: Kind) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile the graph of a kind once; the fork server does it for all its workers."""
    return flow_of(kind).build().compile()


async def warm_up(scratch: Path) -> None:
    """Run a small item once, so that everything a worker needs is imported and
    compiled.
    """
    from agentos.gateway.providers import Completion

    async def ask(**_: Any) -> Completion:
        return Completion(text="# Nothing", model="warm-up")

    remember_blank(make_blank(scratch / "blank.db"))
    assignment = Assignment(
        item=Item(Kind.LLD, "0", "warm-up"),
        text=(
            "# 0 - Warm up\n\n## Objective\nBe ready.\n\n## Acceptance Criteria\n- [ ]"
            " Ready\n"
        ),
        digest="",
        repository="",
        config=RunConfig(max_rounds=1),
    )
    store = SqliteStore(scratch / "warm-up.db")
    session = Session(assignment, scratch, store, ask, lambda *_: None)
    await run_session(session, lambda _: None)
