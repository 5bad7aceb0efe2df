"""Answers that were written down before: `12/tests-1.md`, `12/code-3.md` below one folder."""

from __future__ import annotations

from pathlib import Path

from agentos.errors import BadInput, ProviderError
from agentos.files import is_inside, read_regular
from agentos.providers import Request

ANSWER_LIMIT = 10_000_000
WITHOUT_RULES = frozenset({"implementation.tests", "implementation.code"})
HINT = "name a model with --drafter, or recorded answers with --drafter offline:answers=FOLDER"


def find_answer(folder: Path | None, request: Request) -> str | None:
    """Return the recorded answer to a request; None when there is none and a rule can answer instead."""
    workflow, _, role = request.purpose.partition(".")
    if workflow != "implementation":
        return None
    if folder is None:
        if request.purpose in WITHOUT_RULES:
            raise ProviderError(f"offline: no rule writes code; {HINT}", failure="bad-input")
        return None
    name = f"{request.item}/{role}-{request.round}.md"
    path = folder / name
    if not path.is_file() or not is_inside(path, folder):
        if request.purpose not in WITHOUT_RULES:
            return None
        raise ProviderError(f"offline: no answer is recorded in {name}; {HINT}", failure="bad-input")
    try:
        return read_regular(path, ANSWER_LIMIT).decode("utf-8", "replace")
    except BadInput as error:
        raise ProviderError(f"offline: {error}", failure="bad-input") from None
