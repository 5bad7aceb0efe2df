"""A drafting flow as the runner sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentos.documents.findings import Finding
from agentos.documents.ledger import questions_for_person
from agentos.documents.lld import Tree
from agentos.entry_points import describe_failure
from agentos.errors import ItemError
from agentos.gateway.providers import is_rules
from agentos.item import Failure, Outcome, State
from agentos.kinds import BUILT_IN_KINDS, Kind
from agentos.repository.context import select_context
from agentos.repository.look import (
    Looker,
    LookLimits,
    Snapshot,
    open_snapshot,
    record_snapshot,
)
from agentos.repository.paths import document_path, lineage_folders
from agentos.repository.publish import Artifacts
from agentos.workflows.drafting.graph import build_graph
from agentos.workflows.drafting.kind import DraftingKind
from agentos.workflows.drafting.lineage import artifacts_of
from agentos.workflows.drafting.loop import findings_of, say_finding
from agentos.workflows.drafting.memory import Memory, begin_anew, recall
from agentos.workflows.drafting.nodes import DraftingContext, ledger_of
from agentos.workflows.drafting.repository_tree import RepositoryTree
from agentos.workflows.drafting.state import DraftingState, initial_state
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import Identity
from agentos.workflows.engine.flow import Session, build_marker
from agentos.workflows.prompts.overrides import load_for_item

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

MOST_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Drafting:
    """Draft a document and have it reviewed."""

    kind: DraftingKind

    @property
    def workflow(self) -> Kind:
        """The kind of work."""
        return self.kind.workflow

    @property
    def version(self) -> int:
        """The version of its graph."""
        return self.kind.version

    def build(
        self,
    ) -> StateGraph[DraftingState, DraftingContext, DraftingState, DraftingState]:
        """Return its graph."""
        return build_graph(self.kind)

    def start(self, assignment: Assignment) -> DraftingState:
        """Return the initial state: the source only."""
        return initial_state(assignment.item.id, assignment.text)

    def most_steps(self, assignment: Assignment) -> int:
        """Return an upper bound on the steps of all rounds."""
        return 10 + 4 * assignment.config.max_rounds

    def context(self, session: Session, identity: Identity) -> DraftingContext:
        """Return what the steps need: the repository and the models."""
        assignment = session.assignment
        repository = session.root
        tree = RepositoryTree(repository)

        def check(draft: str, source: str, previous: str) -> Sequence[Finding]:
            return self._check(draft, source, previous, tree)

        def gather(source: str, snapshot: Snapshot) -> str:
            files = open_snapshot(repository, snapshot)
            selected = select_context(files, source, called=self.kind.source)
            session.observe("gathered", selected.explanation)
            return selected.text

        item = assignment.item
        config = assignment.config
        limits = LookLimits(
            config.look_turns,
            config.looks,
            config.look_characters,
            config.looked_characters,
        )

        def take_snapshot() -> Snapshot | None:
            if is_rules(config.drafter):
                # Rules read the source alone.
                return None
            own = [document_path(item.kind, item.id)]
            own += lineage_folders(item.kind, item.id)
            return record_snapshot(repository, own)

        def open_looker(snapshot: Snapshot) -> Looker | None:
            if not config.look_turns:
                return None
            return Looker(repository, snapshot, limits)

        def remember(source: str) -> Memory:
            memory = recall(repository, item.kind, item.id, source, _today())
            if assignment.is_redo:
                return begin_anew(memory, _today())
            return memory

        return DraftingContext(
            kind=self.kind,
            ask=session.ask,
            prompts=load_for_item(repository, self.kind.workflow),
            take_snapshot=take_snapshot,
            gather=gather,
            open_looker=open_looker,
            recall=remember,
            check=check,
            config=config,
            today=_today,
            provenance=build_marker(
                identity.workflow, identity.version, identity.digest
            ),
            observe=session.observe,
        )

    def _check(
        self, draft: str, source: str, previous: str, tree: Tree
    ) -> Sequence[Finding]:
        """Check a draft; say where the check of another package failed."""
        try:
            findings = tuple(self.kind.check(draft, source, previous, tree))
            for finding in findings:
                if not isinstance(finding, Finding):
                    raise TypeError(f"it returned {finding!r}, not a Finding")
        except Exception as error:
            if self.workflow in BUILT_IN_KINDS:
                raise
            raise ItemError(
                f"the check of the kind {self.workflow} failed with"
                f" {describe_failure(error)}"
            ) from error
        return findings

    def find_loss(
        self,
        state: DraftingState,  # noqa: ARG002
        context: DraftingContext,  # noqa: ARG002
    ) -> str:
        """Return nothing: the state is all that drafting needs."""
        return ""

    def resumes(
        self,
        state: DraftingState,  # noqa: ARG002
        assignment: Assignment,  # noqa: ARG002
    ) -> bool:
        """Return that a stored state is always gone on with."""
        return True

    def remember(
        self,
        state: DraftingState,
        assignment: Assignment,
    ) -> None:
        """Do nothing: what is remembered of a document is published with it."""

    def pauses_before(self, assignment: Assignment) -> tuple[str, ...]:  # noqa: ARG002
        """Return no step: drafting never pauses."""
        return ()

    def paused_outcome(self, state: DraftingState) -> Outcome:
        """Return that the item was interrupted."""
        return Outcome(State.INTERRUPTED, state["message"])

    def outcome(self, state: DraftingState) -> Outcome:
        """Return how the loop ended."""
        rounds = state["rounds"]
        decision = state["decision"]
        is_stalled = decision == Failure.REVIEW_STALL
        findings: list[Finding] = []
        if decision != State.SKELETON:
            # A skeleton marks its own gaps.
            ledger = ledger_of(state)
            if rounds and not rounds[-1]["verdict"]:
                findings += findings_of(rounds[-1])
            findings += [entry.finding for entry in ledger.open]
        questions: tuple[str, ...] = ()
        if decision == State.NEEDS_DISCUSSION:
            questions = questions_for_person(ledger, state["message"])
        elif decision == State.APPROVED:
            questions = questions_for_person(ledger)
        return Outcome(
            State.FAILED if is_stalled else State(decision),
            state["message"],
            Failure.REVIEW_STALL if is_stalled else None,
            len(rounds),
            state["calls"],
            findings=tuple(map(say_finding, findings[:MOST_FINDINGS])),
            questions=questions[:MOST_FINDINGS],
        )

    def artifacts(
        self,
        state: DraftingState,
        context: DraftingContext,  # noqa: ARG002
    ) -> Artifacts:
        """Return the lineage files, and the document if there is one."""
        return artifacts_of(self.kind, state)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
