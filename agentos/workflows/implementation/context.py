"""What the steps of an implementation share: their context, asking a model, and running
tests on a snapshot.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.gateway.providers import Completion, Message
from agentos.item import Failure
from agentos.proving.runners.runs import TestRun
from agentos.repository.look import Looker, LookLimits
from agentos.settings import RunConfig
from agentos.state.confinement.folder import PathRefused, WriteQuotaExceeded
from agentos.workflows.engine.flow import Ask, Observe
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation.accepting import AcceptedChanges
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState
from agentos.workflows.implementation.talk import Attempt
from agentos.workflows.implementation.workspace import Workspace
from agentos.workflows.looking import AskTurn
from agentos.workflows.prompts.overrides import Overrides

PLAN = "N1_review_plan"
REVISE = "N1_revise_design"
TESTS = "N2_scaffold"
CODE = "N4_implement"
CONTEST = "N4_rule_on_tests"
HELD = "N5_rule_on_held_out"
REVIEW = "N6_review_code"


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What the steps need from outside the state."""

    ask: Ask
    prompts: Overrides
    blueprint: Blueprint
    workspace: Workspace
    config: RunConfig
    observe: Observe
    repository: Path
    """The user's repository, which the steps only read."""
    design_path: str
    """Path of the design in it."""

    @property
    def limits(self) -> LookLimits | None:
        """How much a role may look at; None if nobody may look."""
        config = self.config
        if not config.look_turns:
            return None
        return LookLimits(
            config.look_turns,
            config.looks,
            config.look_characters,
            config.looked_characters,
        )

    def looker(self, commit: str) -> Looker | None:
        """Return what answers looks at the item's files as of a commit; None if nobody
        may look.
        """
        limits = self.limits
        if limits is None:
            return None
        return self.workspace.looker(commit, limits)


def question_to(
    context: BuildContext,
    role: str,
    node: str,
    round: int,
    inputs: Mapping[str, str],
    *,
    attempt: int = 1,
    schema: str = "",
    prompt: str = "",
) -> AskTurn:
    """Return what asks a role: with a prompt, its own if none is named, and what was
    said since.
    """
    begin = context.prompts.render(prompt or role, inputs)

    def ask(said: Sequence[Message]) -> Awaitable[Completion]:
        return context.ask(
            role=role,
            node=node,
            round=round,
            attempt=attempt,
            messages=(*begin, *said),
            inputs=inputs,
            schema=schema,
        )

    return ask


def report_looks(context: BuildContext, role: str, looked: Sequence[str]) -> None:
    """Tell the audit what was looked at."""
    if looked:
        context.observe("looked", f"{role}: {'; '.join(looked)}")


def report_attempt(context: BuildContext, role: str, attempt: Attempt) -> None:
    """Tell the console what an attempt looked at, and how its edits were matched."""
    report_looks(context, role, attempt.looked)
    accepted = attempt.accepted
    for note in accepted.notes:
        context.observe("noted", f"{role}: {note}")
    if accepted.has_changes and accepted.slips:
        say_refused(context, f"{role}, not applied", accepted.slips)


def bill(state: ImplementationState, *answers: Completion) -> Update:
    """Add answers to the number of calls and their cost."""
    cost = state.get("cost", 0) + sum(answer.cost for answer in answers)
    return {"calls": state["calls"] + len(answers), "cost": cost}


def say_refused(context: BuildContext, what: str, reasons: list[str]) -> None:
    """Note on the console why something was refused."""
    context.observe("noted", f"{what}: {first_of(reasons)}")


def say_blocked(state: ImplementationState, role: str, reason: str) -> Update:
    """End the item because a role says that it cannot go on, with its reason and how a
    person goes on.
    """
    item = state["item"]
    message = (
        f"the {role} cannot go on: {reason}; change the design, or if the reason does"
        f" not hold, say so: implement-workflow --ids {item} --note '...'"
    )
    return {
        "decision": str(Failure.BLOCKED),
        "message": message,
        "findings": [reason],
    }


def first_of(reasons: list[str]) -> str:
    """Return the first reason, and how many more there are."""
    if len(reasons) == 1:
        return reasons[0]
    return f"{reasons[0]} (and {len(reasons) - 1} more)"


def write_accepted(context: BuildContext, accepted: AcceptedChanges) -> AcceptedChanges:
    """Write the accepted changes; what cannot be written becomes a slip."""
    try:
        context.workspace.write(accepted.files, delete=accepted.deleted)
    except (PathRefused, WriteQuotaExceeded) as error:
        accepted.slips.append(str(error))
    return accepted


async def run_tests_at(
    context: BuildContext,
    snapshot: str,
    selection: tuple[str, ...],
    measured: tuple[str, ...],
) -> TestRun:
    """Run tests on a snapshot and undo whatever they did to the worktree."""
    await context.workspace.restore(snapshot)
    run = await context.workspace.test(selection, measured)
    await context.workspace.restore(snapshot)
    return run
