"""Carry out one turn of a role: its edits and its command, in their order, up to the
first that fails.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from agentos.documents.changes import Change, apply_changes, check_path, parse_changes
from agentos.documents.changes.contract import DONE
from agentos.documents.changes.model import Changes
from agentos.documents.changes.statements import say_both
from agentos.documents.changes.turns import Turn, read_undeclared
from agentos.plain_data import to_data
from agentos.state.confinement.folder import PathRefused, WriteQuotaExceeded
from agentos.workflows.implementation.commands import (
    name_command,
    show_command,
    tools_for,
)
from agentos.workflows.implementation.context import BuildContext
from agentos.workflows.implementation.phase import Phase
from agentos.workflows.implementation.state import Writing
from agentos.workflows.implementation.workspace import Workspace

_IDLE = (
    "The turn had no block that changes a file, no command, and no line that means"
    f" something. Go on, or say `{DONE}`."
)
_DONE_IN_VAIN = (
    f"`{DONE}` does not count beside what was refused, or a command that failed."
)


@dataclass(slots=True)
class Outcome:
    """What was carried out of a turn."""

    lines: list[str] = field(default_factory=list)
    """What the role is told."""
    did: list[str] = field(default_factory=list)
    """The same for the log, in a few words each."""
    is_refused: bool = False
    is_failed: bool = False
    """Whether its command failed."""
    blocked: str = ""
    """Why the role cannot go on, if that is all that its turn says."""

    @property
    def is_good(self) -> bool:
        """Whether all of the turn was carried out, and its command succeeded."""
        return not (self.is_refused or self.is_failed)

    def refuse(self, slips: Collection[str]) -> None:
        """Note what could not be applied."""
        if not slips:
            return
        self.is_refused = True
        self.did.append(f"{len(slips)} not applied")
        listed = list_reasons(slips)
        self.lines.append(f"Not applied:\n{listed}")


def list_reasons(reasons: Collection[str]) -> str:
    """Return reasons as a list."""
    return "\n".join(f"- {reason}" for reason in reasons)


async def carry_out(
    turn: Turn, context: BuildContext, phase: Phase, writing: Writing
) -> Outcome:
    """Make the changes and run the command of a turn; note what it says."""
    above = parse_changes(turn.before)
    below = parse_changes(turn.after)
    outcome = Outcome()
    said = _listen(above, writing) or _listen(below, writing)
    reasons = read_undeclared(f"{turn.before}\n{turn.after}")
    writing["extras"] |= reasons
    workspace = context.workspace
    _change(above, workspace, outcome)
    if turn.command and outcome.is_refused:
        outcome.lines.append("The command was not run.")
    elif turn.command:
        await _run(turn.command, context, phase, outcome)
        _change(below, workspace, outcome)
    for problem in turn.problems:
        outcome.lines.append(problem.text)
        outcome.is_refused = True
    if turn.is_done and not outcome.is_good:
        outcome.lines.append(_DONE_IN_VAIN)
    if outcome.lines:
        writing["idle"] = 0
        return outcome
    outcome.blocked = above.blocked or below.blocked
    if said or reasons or turn.is_done or outcome.blocked:
        writing["idle"] = 0
        return outcome
    writing["idle"] += 1
    outcome.lines.append(_IDLE)
    return outcome


def _listen(changes: Changes, writing: Writing) -> bool:
    """Keep what a turn says about tests, scenarios and files; tell whether it says
    something.
    """
    for contest in changes.contested:
        writing["contested"].append([contest.test, contest.reason])
    for kept in changes.kept:
        for scenario in kept.scenarios:
            writing["kept"][scenario] = kept.reason
    for change in changes.changes:
        if change.reason:
            writing["extras"][change.path] = change.reason
    for lines in changes.unreachable:
        writing["unreachable"].append(to_data(lines))
    return bool(changes.contested or changes.kept or changes.unreachable)


def _change(changes: Changes, workspace: Workspace, outcome: Outcome) -> None:
    """Make the changes of a turn that can be made."""
    slips = [problem.text for problem in changes.problems]
    if changes.blocked and changes.changes:
        slips.append(say_both())
        outcome.refuse(slips)
        return
    possible = []
    for change in changes.changes:
        why = _find_obstacle(change, workspace)
        if why:
            slips.append(f"`{change.path}` {why}.")
        else:
            possible.append(change)
    applied = apply_changes(possible, workspace.read)
    slips += applied.slips
    done = [*applied.files, *applied.deleted]
    try:
        workspace.write(applied.files, delete=applied.deleted)
    except (PathRefused, WriteQuotaExceeded) as error:
        slips.append(str(error))
        done = []
    if done:
        listed = ", ".join(done)
        outcome.did.append(f"edited {listed}")
        lines = [f"Applied: {listed}.", *applied.notes]
        outcome.lines.append("\n".join(lines))
    outcome.refuse(slips)


def _find_obstacle(change: Change, workspace: Workspace) -> str:
    """Return why a change cannot be made here, whatever a design says."""
    why = check_path(change.path)
    if why:
        return f"{why}; use a path inside the repository"
    try:
        workspace.read(change.path)
    except PathRefused as error:
        return f"cannot be changed: {error}"
    return ""


async def _run(
    command: str, context: BuildContext, phase: Phase, outcome: Outcome
) -> None:
    workspace = context.workspace
    tools = tools_for(phase, workspace.files_of(phase.start))
    seconds = context.config.command_timeout
    finished = await workspace.command(command, tools, seconds)
    outcome.lines.append(show_command(finished))
    outcome.did.append(name_command(command, finished))
    outcome.is_failed = finished.is_stopped or finished.code != 0
