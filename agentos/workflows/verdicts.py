"""Have a reviewer asked until its answer is a verdict, or say that it is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agentos.documents.verdict import Verdict, VerdictError, read_verdict
from agentos.errors import ModelFormat
from agentos.providers import Completion

ATTEMPTS = 2
AGAIN = (
    "You have answered this before, and your answer could not be read: {}. "
    "Judge anew, and answer with the one JSON object only."
)


async def ask_for_verdict(ask: Callable[[int, str], Awaitable[Completion]]) -> tuple[Verdict, Completion, int]:
    """Return the verdict, the answer it was read from and how many answers that took.

    `ask` is given the number of the attempt and what is to be added to the prompt.
    """
    again = complaint = ""
    for attempt in range(1, ATTEMPTS + 1):
        answer = await ask(attempt, again)
        try:
            return read_verdict(answer.text), answer, attempt
        except VerdictError as error:
            complaint = str(error)
            again = f"\n{AGAIN.format(complaint)}\n"
    raise ModelFormat(f"no usable verdict in {ATTEMPTS} answers of the reviewer: {complaint}")
