"""Ask a reviewer for a verdict, and ask again if the answer cannot be read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from agentos.documents.verdict import Verdict, VerdictError, read_verdict
from agentos.errors import ModelFormat
from agentos.gateway.providers import Completion, Message, Speaker

ATTEMPTS = 2
LONGEST_QUOTE = 20_000
"""Characters of an unreadable answer that are sent back."""
AGAIN = (
    "Your answer could not be read: {}. Give the same judgment again, as"
    " one JSON object and nothing before or after it: decision (APPROVED, REVISE or"
    " DISCUSS), summary, findings (a list; each has id, tier, category, section, text),"
    " resolved_questions (a list; each has question, answer), questions (a list of"
    " texts), coverage (a list; each has requirement, text, scenarios, covered)."
)


async def ask_for_verdict(
    ask: Callable[[int, Sequence[Message]], Awaitable[Completion]],
) -> tuple[Verdict, Completion, int]:
    """Return the verdict, the answer it was read from and the number of answers.

    `ask` gets the number of the attempt and what was said since the prompt: nothing at
    first, then the unreadable answer and what was wrong with it. Both are part of the
    request key in the journal.
    """
    said: tuple[Message, ...] = ()
    complaint = ""
    for attempt in range(1, ATTEMPTS + 1):
        answer = await ask(attempt, said)
        try:
            return read_verdict(answer.text), answer, attempt
        except VerdictError as error:
            complaint = " ".join(str(error).split())
            said = (
                *said,
                Message(Speaker.ASSISTANT, _shorten(answer.text)),
                Message(Speaker.USER, AGAIN.format(complaint)),
            )
    raise ModelFormat(
        f"no usable verdict in {ATTEMPTS} answers of the reviewer: {complaint}"
    )


def _shorten(text: str) -> str:
    """Cut the middle out of an answer that is too long to be paid for again."""
    left_out = len(text) - LONGEST_QUOTE
    if left_out <= 0:
        return text
    half = LONGEST_QUOTE // 2
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
