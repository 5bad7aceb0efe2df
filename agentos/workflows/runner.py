"""Run one graph for one item: open its checkpoint, resume or start, drain when asked, and prepare the results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentos.artefacts import Publication
from agentos.checkpoints import Identity, examine, remember_blank
from agentos.task import Outcome, Task, Workflow
from agentos.workflows.catalogue import flow_of
from agentos.workflows.flow import Ask, Drained, Flow, Job, Observe, Paused
from agentos.workflows.saver import OpenCheckpoint, make_blank, open_checkpoint

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


async def run_job(job: Job, ask: Ask, observe: Observe, notice: Callable[[str], None]) -> Outcome:
    """Run the item to its end and leave its files ready to be revealed."""
    flow = flow_of(job.task.workflow)
    identity = Identity(flow.workflow, flow.version, job.task.item, job.digest)
    if warning := examine(job.checkpoint, identity):
        notice(warning)
    with open_checkpoint(job.checkpoint, identity, job.make_saver) as checkpoint:
        state = await _run_graph(flow, job, checkpoint, flow.context(job, identity, ask, observe))
        outcome = flow.outcome(state)
        checkpoint.complete(outcome.to_json())
        observe("decided", outcome.state)
    job.publication.prepare(flow.artefacts(state))
    return outcome


async def _run_graph(flow: Flow, job: Job, checkpoint: OpenCheckpoint, context: Any) -> Any:
    graph = compiled_graph(job.task.workflow).copy({"checkpointer": checkpoint.saver})
    config: RunnableConfig = {
        "configurable": {"thread_id": job.task.label},
        "recursion_limit": flow.most_steps(job),
    }
    halts = frozenset(flow.halts_before(job))
    snapshot = None if checkpoint.is_fresh else await graph.aget_state(config)
    if snapshot is not None and checkpoint.is_completed:
        return snapshot.values
    # An empty `next` does not mean finished: after a kill between two writes of the library, tasks are still listed.
    while snapshot is None or not snapshot.values or snapshot.tasks or not snapshot.values.get("decision"):
        if snapshot is not None and not halts.isdisjoint(snapshot.next):
            raise Paused(flow.standing(snapshot.values))
        start = None if snapshot is not None and snapshot.values else flow.start(job)
        steps = graph.astream(
            start, config, context=context, stream_mode="updates", durability="sync", interrupt_before=tuple(halts)
        )
        async for _ in steps:
            if job.is_draining.is_set():
                raise Drained
        snapshot = await graph.aget_state(config)
    return snapshot.values


@cache
def compiled_graph(workflow: Workflow) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile a workflow's graph once; the fork server does it for all its workers."""
    return flow_of(workflow).build().compile()


async def warm_up(scratch: Path) -> None:
    """Go once through everything a worker does, so that the first item finds it imported and compiled."""
    from agentos.providers import Completion

    async def ask(**_: Any) -> Completion:
        return Completion(text="# Nothing", model="warm-up")

    remember_blank(make_blank(scratch / "blank.db"))
    job = Job(
        task=Task(Workflow.LLD, "0", "warm-up"),
        text="# 0 - Warm up\n\n## Objective\nBe ready.\n\n## Acceptance Criteria\n- [ ] Ready\n",
        digest="",
        checkpoint=scratch / "warm-up.db",
        publication=Publication(str(scratch), ("papers/0",), "documents/0.md", "warm-up"),
        max_rounds=1,
    )
    await run_job(job, ask, lambda *_: None, lambda _: None)
