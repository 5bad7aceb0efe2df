"""Let a role write in its workspace, turn by turn.

A turn has edits and one command at most, which are carried out in order, and is answered
with what came of it. Each turn is a step of its own: what was observed is in the
checkpoint before the next question is asked, and the files are those of a snapshot that
it names. When the role says that it is done, what differs from the start is judged like
any other answer; nothing that it says about its work counts.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from agentos.documents.changes import (
    Change,
    Deletion,
    WholeFile,
    apply_changes,
    is_sensitive,
    is_test,
    judge,
    parse_changes,
)
from agentos.documents.changes.contract import DONE, TESTS, UNDECLARED
from agentos.documents.changes.model import Changes
from agentos.documents.changes.statements import say_both
from agentos.documents.changes.turns import Turn, read_turn, read_undeclared
from agentos.gateway.providers import Message, Speaker
from agentos.money import format_dollars, parse_dollars
from agentos.proving.run_command import Tools
from agentos.proving.sandbox import FinishedCommand
from agentos.repository.look.masking import withhold_masked
from agentos.settings import LOOP as LOOP
from agentos.settings import RunConfig
from agentos.state.confinement.folder import PathRefused, WriteQuotaExceeded
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import talk
from agentos.workflows.implementation.accepting import AcceptedChanges
from agentos.workflows.implementation.context import (
    BuildContext,
    bill,
    first_of,
    question_to,
)
from agentos.workflows.implementation.state import ImplementationState, Slip, Writing
from agentos.workflows.implementation.workspace import Workspace
from agentos.workflows.prompts.rendering import enclose

HEAD = TAIL = 5_000
"""Characters of the output that a model sees, from its beginning and from its end."""
FEW = 5
"""With this many turns left a role is told to finish."""
MOST_IDLE = 3
"""Turns in a row without a change, a command or a word that has a meaning; then what is
there is judged.
"""
_SCARCE = 0.8
"""Share of an item's budget from which on a role is told what is left."""
_HOW = f"in a line {UNDECLARED}"
_IDLE = (
    "The turn had no block that changes a file, no command, and no line that means"
    f" something. Go on, or say `{DONE}`."
)
_PUT_BACK = "Put back, because they are not yours to change: {}."


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of writing: of the tests, or of the code."""

    role: str
    """`tests` or `code`."""
    node: str
    called: str
    """What the role is called in the log."""
    declared: Mapping[str, str]
    """The files that it writes, each with its kind of change."""
    start: str
    """The snapshot with what it began from."""
    own_tests: Mapping[str, str] = field(default_factory=dict)
    """The item's accepted tests, which the coder does not change."""

    def is_protected(self, path: str) -> bool:
        """Tell whether a file that was there before is not this role's to change."""
        if path in self.declared:
            return False
        if self.role == TESTS:
            return True
        return is_test(path) or is_sensitive(path)


@dataclass(frozen=True, slots=True)
class Step:
    """What came of one turn."""

    answer: str
    update: Update
    attempt: talk.Attempt | None = None
    """The finished work to judge; None while the role goes on."""


@dataclass(slots=True)
class _Outcome:
    """What was carried out of a turn."""

    lines: list[str] = field(default_factory=list)
    """What the role is told."""
    did: list[str] = field(default_factory=list)
    """The same for the log, in a few words each."""
    is_refused: bool = False


def describe_workspace(config: RunConfig) -> str:
    """Return what a role is told about its workspace."""
    folder = files("agentos.workflows.implementation") / "prompts"
    text = (folder / "workspace.txt").read_text("utf-8").strip()
    values = {
        "{seconds}": f"{config.command_timeout:g}",
        "{shown}": f"{HEAD:,}",
        "{turns}": str(config.turns),
    }
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def start_of(state: ImplementationState, role: str) -> str:
    """Return the snapshot that the present phase of a role began from; empty if none is
    under way.
    """
    writing = state.get("writing")
    if writing is None or writing["role"] != role:
        return ""
    return writing["start"]


def begins(state: ImplementationState, phase: Phase) -> bool:
    """Tell whether a phase begins with its next turn."""
    return not start_of(state, phase.role)


async def take_turn(
    state: ImplementationState,
    context: BuildContext,
    phase: Phase,
    inputs: Mapping[str, str],
    said: talk.Said,
) -> Step:
    """Ask for one turn, carry it out, and return what came of it."""
    workspace = context.workspace
    present = state.get("writing")
    writing = _begin(phase)
    if present is not None and not begins(state, phase):
        writing = copy.deepcopy(present)
    await workspace.restore(writing["snapshot"])
    number = turns_of(state, phase.role) + 1
    ask = question_to(
        context,
        phase.role,
        phase.node,
        state.get("tries", 0) + 1,
        inputs,
        prompt=f"{phase.role}-loop",
    )
    answer = await ask(said)
    said = (*said, Message(Speaker.ASSISTANT, answer.text))
    turn = read_turn(answer.text)
    changes = parse_changes(turn.before), parse_changes(turn.after)
    outcome = _Outcome()
    await _carry_out(turn, changes, context, phase, writing, outcome)
    writing["snapshot"] = workspace.snapshot(f"{phase.role}-turn")
    # What git ignores does not outlive a turn, so that a resumed one finds the same.
    await workspace.restore(writing["snapshot"])
    blocked = _blocked(changes, outcome)
    left = context.config.turns - number
    spent = bill(state, answer)
    is_done = turn.is_done and not outcome.is_refused
    is_over = is_done or bool(blocked) or left <= 0 or writing["idle"] >= MOST_IDLE
    accepted = AcceptedChanges(blocked=blocked)
    if is_over and not blocked:
        accepted = await _collect(context, phase, writing)
        if accepted.slips and left > 0:
            outcome.lines += _say_slips(accepted.slips)
            outcome.did.append(f"not judged: {first_of(accepted.slips)}")
            is_over = False
    context.observe("turned", _say_turn(phase, number, turn, outcome))
    update: Update = {
        f"{phase.role}_turns": number,
        f"{phase.role}_said": talk.as_data(said),
        **spent,
    }
    if not is_over:
        budget = _say_budget(context, left, int(spent["cost"]))
        reply = "\n\n".join([*outcome.lines, *budget])
        writing["turns"].append(Slip(answer=answer.text, reply=reply))
        update["writing"] = writing
        update[f"{phase.role}_said"] = talk.as_data(talk.say(said, reply))
        return Step(answer.text, update)
    update["writing"] = None
    attempt = talk.Attempt(
        said=said,
        answers=(answer,),
        accepted=accepted,
        looked=(),
        slips=writing["turns"],
    )
    return Step(answer.text, update, attempt)


def turns_of(state: ImplementationState, role: str) -> int:
    """Return how many turns a role has taken in its conversation."""
    if role == TESTS:
        return state.get("tests_turns", 0)
    return state.get("code_turns", 0)


def is_out_of_turns(state: ImplementationState, config: RunConfig, role: str) -> bool:
    """Tell whether a role that writes in turns has none left."""
    if state.get("writer") != LOOP:
        return False
    return turns_of(state, role) >= config.turns


def _begin(phase: Phase) -> Writing:
    return Writing(
        role=phase.role,
        start=phase.start,
        snapshot=phase.start,
        turns=[],
        extras={},
        kept={},
        contested=[],
        idle=0,
    )


async def _carry_out(
    turn: Turn,
    changes: tuple[Changes, Changes],
    context: BuildContext,
    phase: Phase,
    writing: Writing,
    outcome: _Outcome,
) -> None:
    """Make the changes and run the command of a turn, up to the first that fails."""
    above, below = changes
    _listen(above, below, turn, writing)
    says_something = bool(
        turn.is_done or above.blocked or above.contested or above.kept
    )
    _change(above, context, outcome)
    if turn.command and outcome.is_refused:
        outcome.lines.append("The command was not run.")
    elif turn.command:
        await _run(turn.command, context, phase, outcome)
        if below.changes or below.problems:
            _change(below, context, outcome)
    for problem in turn.problems:
        outcome.lines.append(problem.text)
        outcome.is_refused = True
    if turn.is_done and outcome.is_refused:
        outcome.lines.append(f"`{DONE}` does not count beside what was refused.")
    writing["idle"] += 1
    if outcome.lines or says_something:
        writing["idle"] = 0
    if not outcome.lines and not says_something:
        outcome.lines.append(_IDLE)


def _listen(above: Changes, below: Changes, turn: Turn, writing: Writing) -> None:
    """Keep what a turn says about tests, scenarios and files."""
    for said in (above, below):
        for contest in said.contested:
            writing["contested"].append([contest.test, contest.reason])
        for kept in said.kept:
            for scenario in kept.scenarios:
                writing["kept"][scenario] = kept.reason
        for change in said.changes:
            if change.reason:
                writing["extras"][change.path] = change.reason
    writing["extras"] |= read_undeclared(f"{turn.before}\n{turn.after}")


def _change(changes: Changes, context: BuildContext, outcome: _Outcome) -> None:
    """Make the changes of a turn that can be made."""
    slips = [problem.text for problem in changes.problems]
    if changes.blocked and changes.changes:
        slips.append(say_both())
    else:
        slips += _apply(changes, context.workspace, outcome)
    if slips:
        outcome.is_refused = True
        outcome.did.append(f"{len(slips)} not applied")
        outcome.lines.append(
            "Not applied:\n" + "\n".join(f"- {slip}" for slip in slips)
        )


def _apply(changes: Changes, workspace: Workspace, outcome: _Outcome) -> list[str]:
    slips = []
    readable = []
    for change in changes.changes:
        try:
            workspace.read(change.path)
        except PathRefused as error:
            slips.append(str(error))
        else:
            readable.append(change)
    applied = apply_changes(readable, workspace.read)
    slips += applied.slips
    try:
        workspace.write(applied.files, delete=applied.deleted)
    except (PathRefused, WriteQuotaExceeded) as error:
        slips.append(str(error))
        return slips
    done = [*applied.files, *applied.deleted]
    if done:
        listed = ", ".join(f"`{path}`" for path in done)
        outcome.lines.append("\n".join([f"Applied: {listed}.", *applied.notes]))
        outcome.did.append(f"edited {', '.join(done)}")
    return slips


async def _run(
    command: str, context: BuildContext, phase: Phase, outcome: _Outcome
) -> None:
    workspace = context.workspace
    unchanged = [
        path
        for path in workspace.files_of(phase.start)
        if phase.is_protected(path) and path not in phase.own_tests
    ]
    tests = list(phase.own_tests)
    if phase.role == TESTS:
        tests = list(phase.declared)
    accepted = {path: text.encode() for path, text in phase.own_tests.items()}
    tools = Tools(tests, accepted, unchanged)
    finished = await workspace.command(command, tools, context.config.command_timeout)
    outcome.lines.append(show_command(finished))
    shown = " ".join(command.split())[:80]
    ended = f"exit {finished.code}" if not finished.is_stopped else finished.reason
    outcome.did.append(f"ran `{shown}` ({ended}, {finished.seconds:.1f} s)")


def show_command(finished: FinishedCommand) -> str:
    """Show how a command ended and what it printed, cut in the middle."""
    ended = f"The command {finished.explain()} ({finished.seconds:.1f} s)."
    output = withhold_masked(finished.output)
    if not output.strip():
        return f"{ended} It printed nothing."
    if len(output) > HEAD + TAIL or finished.left_out:
        begin = output[:HEAD]
        end = output[-TAIL:] if len(output) > HEAD + TAIL else output[HEAD:]
        missing = len(output) - len(begin) - len(end) + finished.left_out
        output = f"{begin}\n[... {missing:,} characters are left out ...]\n{end}"
    return f"{ended}\n\n{enclose('output', output)}"


def _blocked(changes: tuple[Changes, Changes], outcome: _Outcome) -> str:
    """Return why a role cannot go on, if that is all that its turn says."""
    above, below = changes
    if outcome.lines:
        return ""
    return above.blocked or below.blocked


async def _collect(
    context: BuildContext, phase: Phase, writing: Writing
) -> AcceptedChanges:
    """Return what differs from the start of the phase, without files that are not the
    role's to change; those get their bytes back.
    """
    workspace = context.workspace
    changed = workspace.changed_files(phase.start, writing["snapshot"])
    before = frozenset(workspace.files_of(phase.start))
    protected = [
        path for path in changed if path in before and phase.is_protected(path)
    ]
    for path in protected:
        workspace.revert(path, phase.start)
    if protected:
        writing["snapshot"] = workspace.snapshot(f"{phase.role}-turn")
    accepted = AcceptedChanges()
    changes: list[Change] = []
    for path in changed:
        if path in protected:
            continue
        reason = writing["extras"].get(path, "")
        try:
            text = workspace.read(path)
        except PathRefused as error:
            accepted.slips.append(str(error))
            continue
        if text is None:
            changes.append(Deletion(path, reason=reason))
        else:
            changes.append(WholeFile(path, text, reason=reason))
    judgment = judge(
        changes,
        declared=phase.declared,
        protected=tuple(phase.own_tests),
        how_to_explain=_HOW,
    )
    for refusal in judgment.refusals:
        accepted.slips.append(refusal.text)
    for change in judgment.allowed:
        if isinstance(change, WholeFile):
            accepted.files[change.path] = change.text
        else:
            accepted.deleted.append(change.path)
    for change in judgment.extras:
        accepted.extras[change.path] = change.reason
    if protected:
        listed = ", ".join(f"`{path}`" for path in protected)
        accepted.notes.append(_PUT_BACK.format(listed))
    return accepted


def _say_slips(slips: Collection[str]) -> list[str]:
    listed = "\n".join(f"- {slip}" for slip in slips)
    return [f"It is not judged yet, because of this:\n{listed}"]


def _say_budget(context: BuildContext, left: int, cost: int) -> list[str]:
    """Say how many turns are left, and what of the money if that becomes scarce."""
    total = context.config.turns
    turns = f"Turn {total - left + 1} of {total} is next."
    if left <= FEW:
        turns = (
            f"{left} of {total} turns are left: finish what you have, and say `{DONE}`."
        )
    lines = [turns]
    given = context.config.max_cost_per_item
    if given:
        cap = parse_dollars(given)
        if cost > _SCARCE * cap:
            lines.append(
                f"Of the {format_dollars(cap)} for this item {format_dollars(cost)} are"
                " spent: finish what you have."
            )
    return lines


def _say_turn(phase: Phase, number: int, turn: Turn, outcome: _Outcome) -> str:
    did = [f"says `{DONE}`"] if turn.is_done else []
    did += outcome.did
    return f"{phase.called}, turn {number}: {'; '.join(did) or 'nothing'}"
