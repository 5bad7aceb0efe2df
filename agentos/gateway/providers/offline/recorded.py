"""Find recorded answers: each item has a folder of its own.

`12/lld-draft-1.md` is the first draft of a design, `12/lld-review-1.json` its review;
`issue-draft`, `issue-review`, `review` (of a test plan), `tests`, `code`, `contest` (of
tests) and `diff` (the review of the code) are named in the same way; a role that writes
in turns has one file a turn, `code-1.03.md`. Once a person has answered the questions of
an item, its answers come from `12/answered/`.
"""

from __future__ import annotations

from pathlib import Path

from agentos.errors import BadInput, ProviderError
from agentos.gateway.providers import Request, Speaker
from agentos.kinds import Kind
from agentos.state.files import is_inside, read_regular

ANSWER_LIMIT = 10_000_000
ANSWERED = "answered"
_VERDICTS = ("review", "contest", "diff")
_HINT = (
    "name a model with --drafter, or recorded answers with --drafter"
    " offline:answers=FOLDER"
)
_IN_TURNS = "workspace"
"""The input of a role that writes in turns: one file a turn, `code-1.03.md`."""
_QUESTIONS = "## Open Questions"
_ANSWER = "**Answer:** "


def find_answer(folder: Path | None, request: Request) -> str | None:
    """Return the recorded answer to a request, None when a rule answers instead."""
    purpose = request.purpose
    if folder is None:
        if purpose in ("implementation.tests", "implementation.code"):
            raise _refuse(f"no rule writes code; {_HINT}")
        return None
    place = folder / request.item
    first = place / _name(request, 1)
    has_rules = not purpose.startswith("implementation.")
    if has_rules and not first.is_file():
        # The item is not recorded at all.
        return None
    if _is_answered(request):
        place /= ANSWERED
    path = place / _name(request, request.round)
    if not path.is_file() or not is_inside(path, folder):
        shown = path.relative_to(folder)
        raise _refuse(f"no answer is recorded in {shown}; {_HINT}")
    try:
        data = read_regular(path, ANSWER_LIMIT)
    except BadInput as error:
        raise _refuse(str(error)) from None
    return data.decode("utf-8", "replace")


def _refuse(why: str) -> ProviderError:
    return ProviderError(f"offline: {why}", failure="bad-input")


def _name(request: Request, round: int) -> str:
    workflow, _, role = request.purpose.partition(".")
    suffix = "json" if role in _VERDICTS else "md"
    place = str(round)
    if _IN_TURNS in request.inputs:
        place += f".{_turn(request):02}"
    name = f"{role}-{place}.{suffix}"
    if workflow == "implementation":
        return name
    return f"{workflow}-{name}"


def _turn(request: Request) -> int:
    """Return which turn of a conversation is asked for, from 1."""
    number = 0
    for message in request.messages:
        if message.speaker is Speaker.USER:
            number += 1
    return number


def _is_answered(request: Request) -> bool:
    """Return whether the item's input ends with the answers of a person."""
    record = Kind(request.workflow).record
    if record.builds:
        return False
    source = request.inputs.get(record.source, "")
    _, found, answers = source.rpartition(_QUESTIONS)
    return bool(found) and _ANSWER in answers
