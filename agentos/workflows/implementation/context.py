"""What the steps of an implementation share: their context, asking a model, and running
tests on a snapshot.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.gateway.providers import Completion, Message
from agentos.proving.runners.runs import TestRun
from agentos.settings import RunConfig
from agentos.state.confinement.folder import PathRefused, WriteQuotaExceeded
from agentos.workflows.engine.flow import Ask, Observe
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation.accepting import AcceptedChanges
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState
from agentos.workflows.implementation.workspace import Workspace
from agentos.workflows.prompts.overrides import Overrides

PLAN, TESTS, CODE = "N1_review_plan", "N2_scaffold", "N4_implement"
REVISE = "N1_revise_design"


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


def ask_model(
    context: BuildContext,
    role: str,
    node: str,
    round: int,
    inputs: Mapping[str, str],
    *,
    attempt: int = 1,
    said: Sequence[Message] = (),
    schema: str = "",
) -> Awaitable[Completion]:
    """Ask a role with its prompt and what was said since."""
    prompt = context.prompts.render(role, inputs)
    return context.ask(
        role=role,
        node=node,
        round=round,
        attempt=attempt,
        messages=(*prompt, *said),
        inputs=inputs,
        schema=schema,
    )


def bill(state: ImplementationState, *answers: Completion) -> Update:
    """Add answers to the number of calls and their cost."""
    cost = state.get("cost", 0) + sum(answer.cost for answer in answers)
    return {"calls": state["calls"] + len(answers), "cost": cost}


def say_refused(context: BuildContext, what: str, reasons: list[str]) -> None:
    """Note on the console why something was refused."""
    context.observe("noted", f"{what}: {first_of(reasons)}")


def first_of(reasons: list[str]) -> str:
    """Return the first reason, and how many more there are."""
    if len(reasons) == 1:
        return reasons[0]
    return f"{reasons[0]} (and {len(reasons) - 1} more)"


def write(context: BuildContext, accepted: AcceptedChanges) -> list[str]:
    """Write the accepted changes, or return the reason why they cannot be written."""
    try:
        context.workspace.write(accepted.files, delete=accepted.deleted)
    except (PathRefused, WriteQuotaExceeded) as error:
        return [str(error)]
    return []


async def run_tests_at(
    context: BuildContext,
    snapshot: str,
    selection: tuple[str, ...],
    measured: tuple[str, ...] = (),
) -> TestRun:
    """Run tests on a snapshot and undo whatever they did to the worktree."""
    await context.workspace.restore(snapshot)
    run = await context.workspace.test(selection, measured)
    await context.workspace.restore(snapshot)
    return run
