"""Run one graph for one item: open its checkpoint, resume or start, drain when asked, and prepare the results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentos.artefacts import Publication
from agentos.checkpoints import Identity, examine, remember_blank
from agentos.codemap import select_material
from agentos.documents.findings import Finding
from agentos.documents.verdict import parse_verdict
from agentos.errors import BadInput, UsageError
from agentos.task import Failure, Outcome, State, Task, Workflow
from agentos.workflows.catalogue import kind_of
from agentos.workflows.graph import build_graph
from agentos.workflows.kind import Kind
from agentos.workflows.lineage import artefacts_of
from agentos.workflows.loop import findings_of, last_word, say_finding
from agentos.workflows.nodes import Ask, Context
from agentos.workflows.overrides import Overrides, load_overrides
from agentos.workflows.repository_tree import RepositoryTree
from agentos.workflows.saver import InlineSaver, OpenCheckpoint, make_blank, open_checkpoint
from agentos.workflows.state import DraftingState, RoundState, initial_state

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


MOST_FINDINGS = 20


class Drained(Exception):
    """The item was asked to stop and has saved its state."""


@dataclass(slots=True)
class Job:
    """One item to be run here."""

    task: Task
    text: str
    digest: str
    checkpoint: Path
    publication: Publication
    max_rounds: int
    is_draining: asyncio.Event = field(default_factory=asyncio.Event)
    make_saver: type[InlineSaver] = InlineSaver


async def run_job(job: Job, ask: Ask, observe: Callable[[str, str], None], notice: Callable[[str], None]) -> Outcome:
    """Run the item to its end and leave its files ready to be revealed."""
    kind = kind_of(job.task.workflow)
    identity = Identity(kind.workflow, kind.version, job.task.item, job.digest)
    if warning := examine(job.checkpoint, identity):
        notice(warning)
    with open_checkpoint(job.checkpoint, identity, job.make_saver) as checkpoint:
        context = _context(kind, job, identity, ask, observe)
        state = await _run_graph(job, checkpoint, context)
        outcome = _outcome(state)
        checkpoint.complete(outcome.to_json())
        observe("decided", outcome.state)
    job.publication.prepare(artefacts_of(kind, state))
    return outcome


def _context(
    kind: Kind,
    job: Job,
    identity: Identity,
    ask: Ask,
    observe: Callable[[str, str], None],
) -> Context:
    repository = Path(job.publication.repository)
    tree = RepositoryTree(repository)

    def check(draft: str, source: str, previous: str) -> Sequence[Finding]:
        return kind.check(draft, source, previous, tree)

    def gather(source: str) -> str:
        material = select_material(repository, source)
        observe("gathered", material.explanation)
        return material.text

    return Context(
        kind=kind,
        ask=ask,
        prompts=_load_overrides(repository, kind.workflow),
        gather=gather,
        check=check,
        max_rounds=job.max_rounds,
        today=_today,
        stamp=_stamp(identity),
        observe=observe,
    )


def _load_overrides(repository: Path, workflow: Workflow) -> Overrides:
    try:
        return load_overrides(repository, workflow)
    except UsageError as error:
        raise BadInput(str(error)) from None


async def _run_graph(job: Job, checkpoint: OpenCheckpoint, context: Context) -> DraftingState:
    graph = compiled_graph(job.task.workflow).copy({"checkpointer": checkpoint.saver})
    config: RunnableConfig = {
        "configurable": {"thread_id": job.task.label},
        "recursion_limit": 10 + 4 * job.max_rounds,
    }
    snapshot = None if checkpoint.is_fresh else await graph.aget_state(config)
    if snapshot is not None and checkpoint.is_completed:
        return cast(DraftingState, snapshot.values)
    # An empty `next` does not mean finished: after a kill between two writes of the library, tasks are still listed.
    while snapshot is None or not snapshot.values or snapshot.tasks or not snapshot.values.get("decision"):
        start = None if snapshot is not None and snapshot.values else initial_state(job.task.item, job.text)
        async for _ in graph.astream(start, config, context=context, stream_mode="updates", durability="sync"):
            if job.is_draining.is_set():
                raise Drained
        snapshot = await graph.aget_state(config)
    return cast(DraftingState, snapshot.values)


@cache
def compiled_graph(workflow: Workflow) -> CompiledStateGraph[DraftingState, Context, DraftingState, DraftingState]:
    """Compile a workflow's graph once; the fork server does it for all its workers."""
    return build_graph(kind_of(workflow)).compile()


def _outcome(state: DraftingState) -> Outcome:
    rounds, decision = state["rounds"], state["decision"]
    telling = last_word(rounds, decision)
    is_stalled = decision == Failure.REVIEW_STALL
    return Outcome(
        State.FAILED if is_stalled else State(decision),
        state["message"],
        Failure.REVIEW_STALL if is_stalled else None,
        len(rounds),
        state["calls"],
        findings=tuple(say_finding(finding) for finding in findings_of(telling)[:MOST_FINDINGS]) if telling else (),
        questions=_questions(rounds[-1]) if decision == State.NEEDS_DISCUSSION else (),
    )


def _questions(last: RoundState) -> tuple[str, ...]:
    verdict = parse_verdict(last["verdict"])
    return verdict.questions[:MOST_FINDINGS] or (verdict.summary,)


def _stamp(identity: Identity) -> str:
    return f"<!-- agentos: workflow={identity.workflow}/{identity.version} input=sha256:{identity.digest} -->"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


async def warm_up(scratch: Path) -> None:
    """Go once through everything a worker does, so that the first item finds it imported and compiled."""
    from agentos.providers import Completion

    async def ask(**_: Any) -> Completion:
        return Completion(text="# Nothing", model="warm-up")

    for workflow in Workflow:
        compiled_graph(workflow)
    remember_blank(make_blank(scratch / "blank.db"))
    job = Job(
        task=Task(Workflow.LLD, "0", "warm-up"),
        text="# 0 - Warm up\n\n## Objective\nBe ready.\n\n## Acceptance Criteria\n- [ ] Ready\n",
        digest="",
        checkpoint=scratch / "warm-up.db",
        publication=Publication(str(scratch), "papers/0", "documents/0.md", "warm-up"),
        max_rounds=1,
    )
    await run_job(job, ask, lambda *_: None, lambda _: None)
