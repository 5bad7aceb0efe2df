"""The implementation workflow as the runner sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentos.artefacts import Artefacts
from agentos.checkpoints import Identity
from agentos.errors import BadInput
from agentos.task import Failure, Outcome, State, Workflow
from agentos.workflows.flow import Ask, Job, Observe, stamp_of
from agentos.workflows.implementation.blueprint import read_blueprint
from agentos.workflows.implementation.graph import CODE, build_graph
from agentos.workflows.implementation.nodes import SCAFFOLD_ATTEMPTS, Context
from agentos.workflows.implementation.reports import artefacts_of
from agentos.workflows.implementation.state import ImplementationState, initial_state
from agentos.workflows.implementation.workbench import Workbench
from agentos.workflows.overrides import load_for_item

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

MOST_FINDINGS = 20
LONGEST_LINE = 500


@dataclass(frozen=True, slots=True)
class Implementation:
    """Build an approved design, tests first."""

    workflow: Workflow = Workflow.IMPLEMENTATION
    version: int = 1

    def build(self) -> StateGraph[ImplementationState, Context, ImplementationState, ImplementationState]:
        """Return its graph."""
        return build_graph()

    def start(self, job: Job) -> ImplementationState:
        """Return the state with the design alone."""
        return initial_state(
            job.task.item, job.text, int(time.time()), stamp_of(self.workflow, self.version, job.digest)
        )

    def most_steps(self, job: Job) -> int:
        """Return the steps of all attempts, and some to spare."""
        return 10 + 2 * SCAFFOLD_ATTEMPTS + 3 * job.max_rounds

    def context(self, job: Job, identity: Identity, ask: Ask, observe: Observe) -> Context:  # noqa: ARG002
        """Return what the steps need: the design's parts, the worktree, the models."""
        if job.workshop is None:
            raise BadInput("an implementation needs a place to be built in")
        blueprint = read_blueprint(job.text, job.task.item)
        return Context(
            ask=ask,
            prompts=load_for_item(Path(job.publication.repository), self.workflow),
            blueprint=blueprint,
            bench=Workbench(job, job.workshop, blueprint, observe),
            max_iterations=job.max_rounds,
            coverage_target=job.workshop.coverage_target,
            observe=observe,
        )

    def halts_before(self, job: Job) -> tuple[str, ...]:
        """Return the code, when only the tests were asked for."""
        return (CODE,) if job.workshop is not None and job.workshop.stops_after_tests else ()

    def standing(self, state: ImplementationState) -> Outcome:
        """Say that the tests are there."""
        count = len(state["scaffolds"][-1]["names"])
        message = f"{count} tests are written and proven red; run without --scaffold-only to have the code written"
        return Outcome(State.SCAFFOLDED, message, rounds=len(state["iterations"]), calls=state["calls"])

    def outcome(self, state: ImplementationState) -> Outcome:
        """Say how the item ended."""
        decision = state["decision"]
        failure = Failure(decision) if decision in (Failure.RED_INVALID, Failure.NOT_GREEN) else None
        return Outcome(
            State.FAILED if failure else State(decision),
            _shorten(state["message"]),
            failure,
            len(state["iterations"]),
            state["calls"],
            findings=tuple(_shorten(finding) for finding in state["findings"][:MOST_FINDINGS]),
            questions=tuple(state["questions"][:MOST_FINDINGS]),
        )

    def artefacts(self, state: ImplementationState) -> Artefacts:
        """Return the lineage and the reports."""
        return artefacts_of(state)


def _shorten(text: str) -> str:
    """Keep a line that hostile code could make long within what a terminal can show; the report has all of it."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_LINE else f"{flat[:LONGEST_LINE]}..."
