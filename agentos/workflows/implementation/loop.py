"""Let a role write in its workspace, turn by turn.

A turn has edits and one command at most, which are carried out in order, and is answered
with what came of it. Each turn is a step of its own: what was observed is in the
checkpoint before the next question is asked, and the files are those of a snapshot that
it names. When the role says that it is done, what differs from the start is judged like
any other answer; nothing that it says about its work counts.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from agentos.documents.changes.contract import DONE, TESTS
from agentos.documents.changes.turns import Turn, read_turn
from agentos.gateway.providers import Message, Speaker
from agentos.money import format_dollars, parse_dollars
from agentos.settings import LOOP as LOOP
from agentos.settings import RunConfig
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation import talk
from agentos.workflows.implementation.accepting import AcceptedChanges
from agentos.workflows.implementation.carrying_out import (
    Outcome,
    carry_out,
    list_reasons,
)
from agentos.workflows.implementation.collecting import collect
from agentos.workflows.implementation.context import (
    BuildContext,
    bill,
    first_of,
    question_to,
)
from agentos.workflows.implementation.phase import Phase
from agentos.workflows.implementation.state import ImplementationState, Slip, Writing
from agentos.workflows.looking import AskTurn

FEW = 5
"""With this many turns left a role is told to finish."""
MOST_IDLE = 3
"""Turns in a row without a change, a command or a word that has a meaning; then what is
there is judged.
"""
_SCARCE = 0.8
"""Share of an item's budget from which on a role is told what is left."""
_NOT_YET = "It is not judged yet, because of this:\n{}"


@dataclass(frozen=True, slots=True)
class Step:
    """What came of one turn."""

    answer: str
    update: Update
    begin: str = ""
    """The snapshot with the work before the phase."""
    attempt: talk.Attempt | None = None
    """The finished work to judge; None while the role goes on."""


async def take_turn(
    state: ImplementationState,
    context: BuildContext,
    phase: Phase,
    inputs: Mapping[str, str],
    said: talk.Said,
) -> Step:
    """Ask for one turn, carry it out, and return what came of it."""
    workspace = context.workspace
    writing = _go_on(state, phase)
    await workspace.restore(writing["snapshot"])
    ask = _question(state, context, phase, inputs)
    answer = await ask(said)
    said = (*said, Message(Speaker.ASSISTANT, answer.text))
    turn = read_turn(answer.text)
    outcome = await carry_out(turn, context, phase, writing)
    writing["snapshot"] = await workspace.snapshot_of_turn(f"{phase.role}-turn")
    number = turns_of(state, phase.role) + 1
    left = context.config.turns - number
    accepted = None
    if outcome.blocked:
        accepted = AcceptedChanges(blocked=outcome.blocked)
    elif _is_over(turn, outcome, writing, left):
        accepted = collect(workspace, phase, writing)
        goes_on = left > 0 and writing["idle"] < MOST_IDLE
        if accepted.slips and not goes_on:
            # What nobody declared or explained is still there.
            accepted.problems = accepted.slips
        elif accepted.slips:
            reasons = list_reasons(accepted.slips)
            outcome.lines.append(_NOT_YET.format(reasons))
            outcome.did.append(f"not judged: {first_of(accepted.slips)}")
            accepted = None
    context.observe("turned", _say_turn(phase, number, turn, outcome))
    bill_of_turn = bill(state, answer)
    update: Update = {f"{phase.role}_turns": number, **bill_of_turn}
    if accepted is None:
        budget = _say_budget(context.config, left, bill_of_turn["cost"])
        reply = "\n\n".join([*outcome.lines, *budget])
        writing["turns"].append(Slip(answer=answer.text, reply=reply))
        update["writing"] = writing
        update[f"{phase.role}_said"] = talk.as_data(talk.say(said, reply))
        return Step(answer.text, update)
    update["writing"] = None
    update[f"{phase.role}_said"] = talk.as_data(said)
    attempt = talk.Attempt(said, (answer,), accepted, (), writing["turns"])
    return Step(answer.text, update, writing["begin"], attempt)


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


def _go_on(state: ImplementationState, phase: Phase) -> Writing:
    """Return a phase that is under way, or its beginning."""
    writing = state.get("writing")
    if writing is not None and writing["role"] == phase.role:
        return copy.deepcopy(writing)
    return Writing(
        role=phase.role,
        start=phase.start,
        begin=phase.begin or phase.start,
        snapshot=phase.begin or phase.start,
        turns=[],
        extras={},
        kept={},
        contested=[],
        unreachable=[],
        idle=0,
    )


def _question(
    state: ImplementationState,
    context: BuildContext,
    phase: Phase,
    inputs: Mapping[str, str],
) -> AskTurn:
    conversation = state.get("tries", 0) + 1
    return question_to(
        context,
        phase.role,
        phase.node,
        conversation,
        inputs,
        prompt=f"{phase.role}-loop",
    )


def _is_over(turn: Turn, outcome: Outcome, writing: Writing, left: int) -> bool:
    """Tell whether what is there is to be judged."""
    if turn.is_done and outcome.is_good:
        return True
    return left <= 0 or writing["idle"] >= MOST_IDLE


def _say_budget(config: RunConfig, left: int, cost: int) -> list[str]:
    """Say how many turns are left, and what of the money if that becomes scarce."""
    total = config.turns
    turns = f"Turn {total - left + 1} of {total} is next."
    if left <= FEW:
        turns = f"{left} of {total} turns are left: finish, and say `{DONE}`."
    lines = [turns]
    if config.max_cost_per_item:
        cap = parse_dollars(config.max_cost_per_item)
        if cost > _SCARCE * cap:
            whole = format_dollars(cap)
            spent = format_dollars(cost)
            lines.append(f"{spent} of {whole} for this item are spent: finish.")
    return lines


def _say_turn(phase: Phase, number: int, turn: Turn, outcome: Outcome) -> str:
    did = outcome.did
    if turn.is_done:
        did = [f"says `{DONE}`", *did]
    said = "; ".join(did) or "nothing"
    return f"{phase.called}, turn {number}: {said}"
