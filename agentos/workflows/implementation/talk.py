"""Ask for changes of files in a conversation.

The model may look at the repository first. What of its answer cannot be applied for a
formal reason is answered with that reason and the text as it is; that is no attempt.
The conversation continues from attempt to attempt, so that nothing is sent twice and a
provider's cache serves its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from agentos.documents.changes import parse_changes
from agentos.gateway.providers import Completion, Message, Speaker
from agentos.repository.look import Looker, looks_in
from agentos.workflows.implementation.accepting import AcceptedChanges, Made
from agentos.workflows.implementation.rendering import show_texts
from agentos.workflows.implementation.state import Slip
from agentos.workflows.looking import AskTurn, Conversation, ask_looking
from agentos.workflows.prompts.rendering import enclose

MOST_SLIPS = 3
"""Formal slips in one attempt that are answered; the next one ends the attempt."""
LONGEST_ANSWER = 2_000_000
"""Characters up to which an answer is searched for looks."""
HOW_TO_ANSWER = (
    "Answer with a block `look` to look at more, or with the files, in the form that"
    ' "How to answer" describes.'
)
_SLIP = """\
Part of your answer could not be applied:

{reasons}

{applied}

{texts}Send only what was not applied, in the form that "How to answer" describes. It is
applied to the texts as they are now. If it is not needed, answer `leave it out`."""
Said = tuple[Message, ...]
Accept = Callable[[str, Made], AcceptedChanges]
"""Applies what it can of an answer and was not made before; the rest are slips."""
ShowText = Callable[[str], str | None]


@dataclass(slots=True)
class Attempt:
    """One attempt: all that its answers have in common."""

    said: Said
    """What was said since the prompt, the last answer included."""
    answers: tuple[Completion, ...]
    accepted: AcceptedChanges
    """What all its answers change together, and what was not applied in the end."""
    looked: tuple[str, ...]
    slips: list[Slip] = field(default_factory=list)
    """The answers before the last one, with the replies to them."""

    @property
    def answer(self) -> Completion:
        """The last answer."""
        return self.answers[-1]

    @property
    def failures(self) -> list[str]:
        """Why it cannot be judged as it is, or why nothing could be applied; empty if
        something was, which proofs judge.
        """
        accepted = self.accepted
        if accepted.problems or accepted.has_changes:
            return accepted.problems
        return accepted.slips


async def ask_for_changes(
    ask: Callable[[int], AskTurn],
    accept: Accept,
    said: Said,
    looker: Looker | None,
    show: ShowText,
) -> Attempt:
    """Ask until an answer has no formal slip, or until there were too many.

    `ask` takes the number of slips so far and returns what asks a turn.
    """
    talk = Conversation(said)
    total = AcceptedChanges()
    slips: list[Slip] = []
    while True:
        turn = ask(len(slips))
        talk = await ask_looking(turn, _find_looks, looker, HOW_TO_ANSWER, talk)
        answer = talk.answer.text
        accepted = accept(answer, total.made)
        if total.has_changes and accepted.names_nothing:
            # The model leaves out what could not be applied.
            accepted.slips = []
        total.add(accepted)
        if not accepted.slips or len(slips) == MOST_SLIPS:
            break
        reply = _say_slips(accepted, show)
        slips.append(Slip(answer=answer, reply=reply))
        talk = talk.add(
            Message(Speaker.ASSISTANT, answer), Message(Speaker.USER, reply)
        )
    talk = talk.add(Message(Speaker.ASSISTANT, answer))
    return Attempt(talk.said, talk.answers, total, talk.looked, slips)


def as_data(said: Iterable[Message]) -> list[list[str]]:
    """Return what was said as plain data for the state."""
    return [[message.speaker.value, message.text] for message in said]


def from_data(data: Iterable[Sequence[str]]) -> Said:
    """Read what was said from the state."""
    return tuple(Message(Speaker(speaker), text) for speaker, text in data)


def say(said: Said, text: str) -> Said:
    """Return a conversation in which the last answer is replied to."""
    return (*said, Message(Speaker.USER, text))


def _find_looks(answer: str) -> Sequence[str] | None:
    """Return the looks of an answer that changes nothing."""
    if len(answer) > LONGEST_ANSWER:
        return None
    looks = looks_in(answer)
    if looks is None or parse_changes(answer).changes:
        return None
    return looks


def _say_slips(accepted: AcceptedChanges, show: ShowText) -> str:
    reasons = "\n".join(f"- {slip}" for slip in accepted.slips)
    applied = "Nothing of it was applied."
    done = [*accepted.files, *accepted.deleted]
    if done:
        listed = ", ".join(f"`{path}`" for path in done)
        applied = f"Applied and kept: {listed}."
    texts = {}
    for path in accepted.slipped:
        text = show(path)
        if text is not None:
            texts[path] = text
    present = ""
    if texts:
        material = enclose("present text", show_texts(texts))
        present = f"The present text of what was not applied:\n\n{material}\n\n"
    return _SLIP.format(reasons=reasons, applied=applied, texts=present)
