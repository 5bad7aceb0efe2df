"""The implementation flow as the runner sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentos.errors import BadInput
from agentos.item import Failure, Outcome, State
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import Identity
from agentos.workflows.engine.flow import Session, build_marker
from agentos.workflows.implementation import memory
from agentos.workflows.implementation.blueprint import read_blueprint
from agentos.workflows.implementation.context import CODE, BuildContext
from agentos.workflows.implementation.graph import build_graph
from agentos.workflows.implementation.reports import artifacts_of
from agentos.workflows.implementation.revising import MOST_REVISIONS, amendment_of
from agentos.workflows.implementation.scaffolding import SCAFFOLD_ATTEMPTS
from agentos.workflows.implementation.state import (
    ImplementationState,
    count_attempts,
    initial_state,
)
from agentos.workflows.implementation.workspace import Workspace
from agentos.workflows.prompts.overrides import load_for_item

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

FAILURES = (Failure.RED_INVALID, Failure.NOT_GREEN, Failure.BLOCKED)
"""Decisions that are failures."""
MOST_FINDINGS = 20
LONGEST_LINE = 500


@dataclass(frozen=True, slots=True)
class Implementation:
    """Build an approved design, tests first."""

    workflow: Kind = Kind.IMPLEMENTATION
    version: int = 1

    def build(
        self,
    ) -> StateGraph[
        ImplementationState, BuildContext, ImplementationState, ImplementationState
    ]:
        """Return its graph."""
        return build_graph()

    def start(self, assignment: Assignment) -> ImplementationState:
        """Return the initial state: the design, and what earlier runs left."""
        state = initial_state(
            assignment.item.id,
            assignment.text,
            int(time.time()),
            build_marker(self.workflow, self.version, assignment.digest),
        )
        return memory.begin(state, assignment)

    def most_steps(self, assignment: Assignment) -> int:
        """Return an upper bound on the steps of all attempts."""
        config = assignment.config
        code = config.turns + 6 * config.max_iterations
        attempts = 8 * SCAFFOLD_ATTEMPTS + config.attempts * code
        return 44 + 2 * MOST_REVISIONS + attempts + config.turns

    def context(
        self,
        session: Session,
        identity: Identity,  # noqa: ARG002
    ) -> BuildContext:
        """Return what the steps need: the design, the worktree and the models."""
        assignment = session.assignment
        if assignment.build is None:
            raise BadInput("an implementation needs a place to be built in")
        blueprint = read_blueprint(assignment.text, assignment.item.id)
        repository = session.root
        return BuildContext(
            ask=session.ask,
            prompts=load_for_item(repository, self.workflow),
            blueprint=blueprint,
            workspace=Workspace(session, assignment.build, blueprint),
            config=assignment.config,
            observe=session.observe,
            repository=repository,
            design_path=assignment.item.source,
        )

    def find_loss(self, state: ImplementationState, context: BuildContext) -> str:
        """Return what is gone if the item's repository lacks the finished commit or, for
        an unfinished item, a snapshot.
        """
        if not state["base"]:
            return ""
        workspace = context.workspace
        if state["commit"]:
            is_whole = workspace.tip == state["commit"]
        else:
            is_whole = workspace.has(_snapshots(state))
        if is_whole:
            return ""
        return f"{workspace.folder}: what was saved of the item is gone"

    def resumes(self, state: ImplementationState, assignment: Assignment) -> bool:
        """Tell whether a stored state is what this run is to go on with."""
        return memory.resumes(state, assignment)

    def remember(self, state: ImplementationState, assignment: Assignment) -> None:
        """Keep the reviewed plan, the proven tests and the best code."""
        memory.remember(state, assignment)

    def pauses_before(self, assignment: Assignment) -> tuple[str, ...]:
        """Return the step that writes code if only the tests were asked for."""
        if assignment.config.scaffold_only:
            return (CODE,)
        return ()

    def paused_outcome(self, state: ImplementationState) -> Outcome:
        """Return the outcome of an item whose tests are written."""
        count = len(state["scaffolds"][-1]["names"])
        message = (
            f"{count} tests are written and proven red; run without --scaffold-only to"
            " have the code written"
        )
        return Outcome(
            State.SCAFFOLDED,
            message,
            rounds=count_attempts(state["iterations"]),
            calls=state["calls"],
        )

    def outcome(self, state: ImplementationState) -> Outcome:
        """Return how the item ended."""
        decision = state["decision"]
        failure = None
        if decision in FAILURES:
            failure = Failure(decision)
        return Outcome(
            State.FAILED if failure else State(decision),
            _shorten(state["message"]),
            failure,
            count_attempts(state["iterations"]),
            state["calls"],
            findings=tuple(map(_shorten, state["findings"][:MOST_FINDINGS])),
            questions=tuple(state["questions"][:MOST_FINDINGS]),
        )

    def artifacts(self, state: ImplementationState, context: BuildContext) -> Artifacts:
        """Return the lineage files, the reports and the commits."""
        amendment = amendment_of(state, context.repository)
        if state["decision"] == State.REVISED:
            # The item begins again on the revised design; it has no results yet.
            return Artifacts(files=(), amendment=amendment)
        artifacts = replace(artifacts_of(state), amendment=amendment)
        commit = state["commit"]
        if not commit:
            return artifacts
        bundle = context.workspace.bundle(commit)
        return replace(artifacts, commit=commit, bundle=bundle)


def _snapshots(state: ImplementationState) -> set[str]:
    """Return every commit that a step could restore."""
    commits = {state["base"], state["snapshot"]}
    writing = state.get("writing")
    if writing:
        commits |= {writing["start"], writing["begin"], writing["snapshot"]}
    for iteration in state["iterations"]:
        commits.add(iteration["snapshot"])
    for scaffold in state["scaffolds"]:
        commits.add(scaffold.get("snapshot", ""))
    # An attempt that was refused before it was written has none.
    commits.discard("")
    return commits


def _shorten(text: str) -> str:
    """Cut a line that hostile code could make long; the report holds all of it."""
    flat = " ".join(text.split())
    if len(flat) <= LONGEST_LINE:
        return flat
    return f"{flat[:LONGEST_LINE]}..."
