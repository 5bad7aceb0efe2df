"""A drafting workflow as the runner sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentos.artefacts import Artefacts
from agentos.checkpoints import Identity
from agentos.codemap import select_material
from agentos.documents.findings import Finding
from agentos.documents.verdict import parse_verdict
from agentos.task import Failure, Outcome, State, Workflow
from agentos.workflows.drafting.graph import build_graph
from agentos.workflows.drafting.kind import Kind
from agentos.workflows.drafting.lineage import artefacts_of
from agentos.workflows.drafting.loop import findings_of, last_word, say_finding
from agentos.workflows.drafting.nodes import Context
from agentos.workflows.drafting.repository_tree import RepositoryTree
from agentos.workflows.drafting.state import DraftingState, RoundState, initial_state
from agentos.workflows.flow import Ask, Job, Observe, stamp_of
from agentos.workflows.overrides import load_for_item

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

MOST_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Drafting:
    """Draft a document of some kind and have it reviewed."""

    kind: Kind

    @property
    def workflow(self) -> Workflow:
        """The workflow that it is."""
        return self.kind.workflow

    @property
    def version(self) -> int:
        """The version of its graph."""
        return self.kind.version

    def build(self) -> StateGraph[DraftingState, Context, DraftingState, DraftingState]:
        """Return its graph."""
        return build_graph(self.kind)

    def start(self, job: Job) -> DraftingState:
        """Return the state with the source alone."""
        return initial_state(job.task.item, job.text)

    def most_steps(self, job: Job) -> int:
        """Return the steps of all rounds, and some to spare."""
        return 10 + 4 * job.max_rounds

    def context(self, job: Job, identity: Identity, ask: Ask, observe: Observe) -> Context:
        """Return what the steps need of the repository and the models."""
        repository = Path(job.publication.repository)
        tree = RepositoryTree(repository)

        def check(draft: str, source: str, previous: str) -> Sequence[Finding]:
            return self.kind.check(draft, source, previous, tree)

        def gather(source: str) -> str:
            material = select_material(repository, source)
            observe("gathered", material.explanation)
            return material.text

        return Context(
            kind=self.kind,
            ask=ask,
            prompts=load_for_item(repository, self.kind.workflow),
            gather=gather,
            check=check,
            max_rounds=job.max_rounds,
            today=_today,
            stamp=stamp_of(identity.workflow, identity.version, identity.digest),
            observe=observe,
        )

    def halts_before(self, job: Job) -> tuple[str, ...]:  # noqa: ARG002
        """Return nothing: a draft goes to its end."""
        return ()

    def standing(self, state: DraftingState) -> Outcome:
        """Say that the item has not ended."""
        return Outcome(State.INTERRUPTED, state["message"])

    def outcome(self, state: DraftingState) -> Outcome:
        """Say how the loop ended."""
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

    def artefacts(self, state: DraftingState) -> Artefacts:
        """Return the papers of all rounds, and the document if it was approved."""
        return artefacts_of(self.kind, state)


def _questions(last: RoundState) -> tuple[str, ...]:
    verdict = parse_verdict(last["verdict"])
    return verdict.questions[:MOST_FINDINGS] or (verdict.summary,)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
