"""Save the answers of people to questions, in the repository."""

from __future__ import annotations

from pathlib import Path

from agentos.documents.answers import Answer, parse_answers, render_answers
from agentos.errors import BadInput
from agentos.item import Item
from agentos.repository.paths import answers_path
from agentos.state.files import SHARED_FILE, is_inside, read_regular, write_atomically

ANSWERS_LIMIT = 1_000_000
ANSWER_LIMIT = 20_000
"""Maximum number of characters of one answer."""


def save_answer(repository: Path, item: Item, new: Answer) -> str:
    """Add an answer to the item's file, in place of an earlier one to the same question,
    and return the file's path in the repository; the caller has locked the item.

    Raise `BadInput` if the file cannot be used.
    """
    name = answers_path(item.kind, item.id)
    path = repository / name
    if not is_inside(path, repository):
        raise BadInput(
            f"{name}: leads outside the repository; remove the link and answer again"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        answers: tuple[Answer, ...] = ()
        if path.exists():
            text = read_regular(path, ANSWERS_LIMIT).decode("utf-8", "replace")
            answers = parse_answers(text)
        question = " ".join(new.question.split())
        kept = [answer for answer in answers if answer.question != question]
        kept.append(new)
        data = render_answers(item.label, kept).encode()
        write_atomically(path, data, mode=SHARED_FILE)
    except OSError as error:
        raise BadInput(
            f"{name}: cannot be written ({error.strerror}); check its permissions"
        ) from error
    return name
